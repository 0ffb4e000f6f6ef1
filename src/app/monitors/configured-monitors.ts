import { type Config, configErrorOf, readConfiguredMonitors } from '../config/index.ts';
import { computeRuleKey } from '../../monitors/group-watch.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { MonitorGroup, MonitorRule } from '../../monitors/rule.ts';
import type { MonitorView, StatusQuery } from '../../store/contracts/monitors.ts';
import { buildMonitorGroups } from './monitor-groups.ts';

/**
 * Reads the monitors of a configuration: the inline groups, and those in its files. Throws a `ConfigError` that lists every
 * fault of every file with its line.
 */
export async function configuredMonitors(
  config: Pick<Config, 'monitors'> & Partial<Pick<Config, 'scorers'>>,
): Promise<MonitorGroup[]> {
  const { groups, issues } = await readConfiguredMonitors(config);
  if (issues.length > 0) {
    throw configErrorOf('the monitors', issues, () => ({ kind: 'default', where: '' }));
  }
  return buildMonitorGroups(groups, Object.keys(config.scorers ?? {}));
}

/** Rule with its key in the store. */
export interface KeyedRule {
  readonly key: string;
  readonly group: MonitorGroup;
  readonly rule: MonitorRule;
}

export function keyedRules(groups: readonly MonitorGroup[]): KeyedRule[] {
  return groups.flatMap((group) =>
    group.rules.map((rule) => ({ key: computeRuleKey(group, rule), group, rule })),
  );
}

/** Returns a page of the states of rules. Omits the state that a paused rule had before its pause. */
export async function readStandings(
  rules: readonly KeyedRule[],
  view: Pick<MonitorView, 'statuses'>,
  page: Omit<StatusQuery, 'ruleKeys'>,
): Promise<MonitorStatus[]> {
  const paused = new Set(rules.filter(({ rule }) => rule.paused).map(({ key }) => key));
  const statuses = await view.statuses({ ...page, ruleKeys: rules.map(({ key }) => key) });
  return statuses.map((status) =>
    paused.has(status.ruleKey) ? { ...status, phase: 'paused', incidentId: null } : status,
  );
}
