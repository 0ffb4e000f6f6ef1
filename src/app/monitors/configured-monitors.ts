import { type Config, configErrorOf, readConfiguredMonitors } from '../config/index.ts';
import { computeRuleKey } from '../../monitors/group-watch.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { MonitorGroup, MonitorRule } from '../../monitors/rule.ts';
import type { Listed, ListPage } from '../../store/contracts/lists.ts';
import type { MonitorView, StatusFilter } from '../../store/contracts/monitors.ts';
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

/** States of rules for people. A paused rule has no longer the state of before its pause. */
export interface Standings {
  /** Reads the states, alerts first. */
  read(filter: StandingFilter, limit: number): Promise<MonitorStatus[]>;
  /** Lists the states by alert and series. */
  list(filter: StandingFilter, page: ListPage): Promise<Listed<MonitorStatus>>;
}

type StandingFilter = Omit<StatusFilter, 'ruleKeys'>;

/** Creates the reads of the states of rules. */
export function createStandings(
  rules: readonly KeyedRule[],
  view: Pick<MonitorView, 'statuses' | 'listStatuses'>,
): Standings {
  const ruleKeys = rules.map(({ key }) => key);
  const paused = new Set(rules.filter(({ rule }) => rule.paused).map(({ key }) => key));
  const toStanding = (status: MonitorStatus): MonitorStatus =>
    paused.has(status.ruleKey) ? { ...status, phase: 'paused', incidentId: null } : status;
  return {
    async read(filter, limit) {
      const statuses = await view.statuses({ ...filter, ruleKeys }, limit);
      return statuses.map(toStanding);
    },
    async list(filter, page) {
      const { items, next } = await view.listStatuses({ ...filter, ruleKeys }, page);
      return { items: items.map(toStanding), next };
    },
  };
}
