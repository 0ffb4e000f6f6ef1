import { type Config, configErrorOf, readConfiguredMonitors } from '../config/index.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { computeRuleKey } from '../../monitors/group-watch.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { seriesSplitBy } from '../../domain/series-facets.ts';
import type { MonitorStanding, MonitorStatus } from '../../monitors/monitor-status.ts';
import { computeSeriesKey } from '../../monitors/series-key.ts';
import type { MonitorGroup, MonitorRule } from '../../monitors/rule.ts';
import type { Listed, ListPage } from '../../store/contracts/lists.ts';
import type { MonitorView, StatusFilter } from '../../store/contracts/monitors.ts';
import { buildMonitorGroups } from './monitor-groups.ts';

/**
 * Reads the monitors of a configuration: the inline groups, and those in its files. Throws a `ConfigError` that lists every
 * fault of every file with its line.
 */
export async function configuredMonitors(
  config: Pick<Config, 'monitors' | 'scorers' | 'rules'>,
): Promise<MonitorGroup[]> {
  const { groups, issues } = await readConfiguredMonitors(config, PREBUILT_SCORERS);
  if (issues.length > 0) {
    throw configErrorOf('the monitors', issues, () => ({ kind: 'default', where: '' }));
  }
  return buildMonitorGroups(groups, Object.keys(config.scorers));
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
  read(filter: StandingFilter, limit: number): Promise<MonitorStanding[]>;
  /** Lists the states by alert and series. */
  list(filter: StandingFilter, page: ListPage): Promise<Listed<MonitorStanding>>;
}

type StandingFilter = Omit<StatusFilter, 'ruleKeys'>;

/** Creates the reads of the states of rules. */
export function createStandings(
  rules: readonly KeyedRule[],
  view: Pick<MonitorView, 'statuses' | 'listStatuses' | 'lateScores'>,
): Standings {
  const ruleKeys = rules.map(({ key }) => key);
  const paused = new Set(rules.filter(({ rule }) => rule.paused).map(({ key }) => key));
  const intervalMs = Math.min(...rules.map(({ group }) => group.intervalMs));
  const toStandings = async (
    statuses: readonly MonitorStatus[],
    { tenant }: StandingFilter,
  ): Promise<MonitorStanding[]> => {
    if (statuses.length === 0) {
      return [];
    }
    const latestMs = statuses.reduce((latest, { bucketMs }) => Math.max(latest, bucketMs), 0);
    const found = await view.lateScores({ intervalMs, sinceMs: latestMs - DAY_MS, tenant });
    const late = new Map(found.map((each) => [computeSeriesKey(each.series), each]));
    return statuses.map((status) => {
      const ofSeries = late.get(computeSeriesKey(seriesSplitBy(status.series, [])));
      return {
        ...status,
        ...(paused.has(status.ruleKey) ? { phase: 'paused', incidentId: null } : {}),
        lateScores: ofSeries?.scores ?? 0,
        lastLateBucketMs: ofSeries?.lastBucketMs ?? null,
      };
    });
  };
  return {
    async read(filter, limit) {
      return toStandings(await view.statuses({ ...filter, ruleKeys }, limit), filter);
    },
    async list(filter, page) {
      const { items, next } = await view.listStatuses({ ...filter, ruleKeys }, page);
      return { items: await toStandings(items, filter), next };
    },
  };
}
