import { type Config, loadMonitorFiles, type MonitorGroup as MonitorGroupConfig } from '../config/index.ts';
import { ConfigError } from '../domain/errors.ts';
import { ruleKeyOf } from '../monitors/group-watch.ts';
import type { MonitorStatus } from '../monitors/monitor-status.ts';
import type { MonitorGroup, MonitorRule } from '../monitors/rule.ts';
import type { MonitorView, StatusQuery } from '../store/contracts/monitors.ts';
import { monitorGroupsOf } from './monitor-groups.ts';

/**
 * The monitors of a configuration: those written in place, and those of the files that it names. Throws a `ConfigError` that
 * lists every fault of a file with its line, or names two rules that have one name.
 */
export async function configuredMonitors({ monitors }: Pick<Config, 'monitors'>): Promise<MonitorGroup[]> {
  const patterns = monitors.filter((entry) => typeof entry === 'string');
  const inPlace = monitors.flatMap((entry) => (typeof entry === 'string' ? [] : entry.groups));
  const files = await loadMonitorFiles(patterns, process.cwd());
  const groups = [...files.flatMap((file) => file.groups), ...inPlace];
  refuseTwins(groups);
  return monitorGroupsOf(groups);
}

/** Files tell their own twins; these are the ones of a file and the configuration, or within it. */
function refuseTwins(groups: readonly MonitorGroupConfig[]): void {
  const seen = new Set<string>();
  for (const { alert } of groups.flatMap(({ rules }) => rules)) {
    if (seen.has(alert)) {
      throw new ConfigError(`monitors: two rules are named ${alert}; give each alert a name of its own`, {
        alert,
      });
    }
    seen.add(alert);
  }
}

/** A rule by what the store calls it. */
export interface KeyedRule {
  readonly key: string;
  readonly group: MonitorGroup;
  readonly rule: MonitorRule;
}

export function keyedRules(groups: readonly MonitorGroup[]): KeyedRule[] {
  return groups.flatMap((group) => group.rules.map((rule) => ({ key: ruleKeyOf(group, rule), group, rule })));
}

/** Where rules stand, a page of it. What a paused one stood at before it was paused holds no more. */
export async function standingsOf(
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
