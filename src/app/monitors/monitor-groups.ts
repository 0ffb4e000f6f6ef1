import { durationMs } from '../../config/index.ts';
import type {
  MonitorGroup as MonitorGroupConfig,
  MonitorRule as MonitorRuleConfig,
} from '../../config/index.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { SPLIT_FACETS } from '../../domain/series-facets.ts';
import type { Detection, MonitorGroup, MonitorRule } from '../../monitors/rule.ts';

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

/** Readers of the keys of each detector. */
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
