import { PREBUILT_SCORERS } from '../../components.ts';
import {
  durationMs,
  type MonitorGroup as MonitorGroupConfig,
  type MonitorRule as MonitorRuleConfig,
} from '../../config/index.ts';
import { type Config, configErrorOf, readConfiguredMonitors } from '../../configuration.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { seriesSplitBy, SPLIT_FACETS } from '../../domain/series-facets.ts';
import type { ListPage } from '../../store/contracts/lists.ts';
import type { StatusFilter } from '../../store/contracts/monitors.ts';
import type { MonitorView } from '../../store/monitors/monitor-view.ts';
import { computeRuleKey } from '../group-watch.ts';
import type { MonitorStanding, MonitorStatus } from '../monitor-status.ts';
import type { MonitorGroup, MonitorRule, Detection } from '../rule.ts';
import { computeSeriesKey } from '../series-key.ts';

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

/** Lists the attributes that rules want kept with each run. */
export function listFacets(groups: readonly MonitorGroupConfig[]): string[] {
  return [
    ...new Set(groups.flatMap(({ rules }) => rules.flatMap((rule) => ('facets' in rule ? rule.facets : [])))),
  ];
}

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

type StandingFilter = Omit<StatusFilter, 'ruleKeys'>;

/** Creates the reads of the states of rules for people. A paused rule has no longer its state from the time before the pause. */
export function createStandings(rules: readonly KeyedRule[], view: MonitorView) {
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
    /** Reads the states, alerts first. */
    async read(filter: StandingFilter, limit: number) {
      return toStandings(await view.statuses({ ...filter, ruleKeys }, limit), filter);
    },
    /** Reads the scorers with scores of 24 hours that rules do not count, by name. */
    async setAside({ tenant, nowMs }: { readonly tenant: string | undefined; readonly nowMs: number }) {
      const query = { intervalMs, sinceMs: nowMs - DAY_MS, tenant };
      const scorers = rules.length === 0 ? [] : await view.setAside(query);
      return scorers.filter(({ refused, late }) => refused + late > 0);
    },
    /** Lists the states by alert and series. */
    async list(filter: StandingFilter, page: ListPage) {
      const { items, next } = await view.listStatuses({ ...filter, ruleKeys }, page);
      return { items: await toStandings(items, filter), next };
    },
  };
}

/**
 * Prepares groups of monitor rules: durations in milliseconds, with defaults. `ownScorers` are the names of configured scorers
 * beside the prebuilt ones.
 */
export function buildMonitorGroups(
  groups: readonly MonitorGroupConfig[],
  ownScorers: readonly string[] = [],
): MonitorGroup[] {
  const scorers = [...PREBUILT_SCORERS.map(({ name }) => name), ...ownScorers];
  return groups.map((group) => {
    const intervalMs = durationMs(group.interval);
    return {
      name: group.name,
      intervalMs,
      falseAlarmBudget: group.falseAlarmBudget,
      rules: group.rules.map((rule) => buildRule(rule, intervalMs, scorers)),
    };
  });
}

function buildRule(rule: MonitorRuleConfig, intervalMs: number, scorers: readonly string[]): MonitorRule {
  const { scorer } = rule.series;
  const others = scorers.filter(
    (name) => name !== scorer && findRowScorer(name, [scorer ?? name]) === scorer,
  );
  return {
    alert: rule.alert,
    detection: buildDetection(rule),
    series: rule.series,
    ...(others.length === 0 ? {} : { otherScorers: others }),
    ...buildSplit(rule),
    terms: {
      forMs: durationMs(rule.for),
      keepFiringForMs: durationMs(rule.keepFiringFor),
      noDataAfterMs: durationMs(rule.noDataAfter),
      intervalMs,
    },
    paused: rule.paused,
    ...(rule.requires === undefined ? {} : { requires: rule.requires }),
    labels: rule.labels,
    annotations: rule.annotations,
  };
}

function buildSplit(rule: MonitorRuleConfig): Pick<MonitorRule, 'split'> {
  if (!('by' in rule) || rule.by.length === 0) {
    return {};
  }
  const { by, minDailyScores } = rule;
  return { split: { by: SPLIT_FACETS.filter((facet) => by.includes(facet)), minDailyScores } };
}

const DETECTIONS: {
  readonly [Name in MonitorRuleConfig['detector']]: (
    rule: Extract<MonitorRuleConfig, { detector: Name }>,
  ) => Detection;
} = {
  drift: ({ tolerance, reference, direction }) => ({ kind: 'drift', tolerance, reference, direction }),
  floor: ({ minimum }) => ({ kind: 'floor', minimum }),
  rate: ({ below, maxRate }) => ({ kind: 'rate', below, maxRate }),
  distribution: ({ tolerance, reference }) => ({ kind: 'distribution', tolerance, reference }),
  threshold: ({ minimum, recovery, window, minScores }) => ({
    kind: 'threshold',
    minimum,
    recovery: recovery ?? minimum,
    windowMs: durationMs(window),
    minScores,
  }),
  no_data: ({ after }) => ({ kind: 'no_data', afterMs: durationMs(after) }),
  scorer_errors: ({ maxRate }) => ({ kind: 'scorer_errors', maxRate }),
  coverage: ({ minimum }) => ({ kind: 'coverage', minimum }),
};

function buildDetection(rule: MonitorRuleConfig): Detection {
  // The table has the reader of a detector under the name of that detector.
  const read = DETECTIONS[rule.detector] as (rule: MonitorRuleConfig) => Detection;
  return read(rule);
}
