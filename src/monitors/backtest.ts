import type { SeriesFacets } from '../domain/series-facets.ts';
import { type Bucket, histogramOfSteps, NO_OUTCOMES, NO_SCORES, sumHistogram } from './bucket.ts';
import { shareByTenant, thresholdsFor } from './statistics/false-alarms.ts';
import { type AnyDetector, createDetector, type MonitorGroup, type MonitorRule } from './rule.ts';
import { isSelected } from './series-key.ts';
import { countTraffic, hasTraffic, NO_TRAFFIC, type Traffic } from './traffic-floor.ts';
import { foldBucket, type Phase, type SeriesState, createSeries, type Transition } from './series.ts';

export interface ScoreRecord {
  /** Index of the series in the list of series. */
  readonly series: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score in thousandths. */
  readonly step: number;
}

export interface BacktestResult {
  readonly alert: string;
  readonly series: string;
  readonly scores: number;
  readonly checks: number;
  readonly finalState: Phase;
  readonly transitions: readonly Transition[];
  /** Baseline at the end; null without one. */
  readonly baseline: number | null;
  /** Limit of the rule; null for a detector without one. */
  readonly limit: number | null;
}

interface Watch {
  readonly rule: MonitorRule;
  readonly seriesName: string;
  readonly detector: AnyDetector;
  /** Scores that one day must have before the series begins. */
  readonly minDailyScores: number;
  traffic: Traffic;
  state: SeriesState<unknown>;
  readonly transitions: Transition[];
}

export interface BacktestSeries {
  readonly name: string;
  /** Facets that rules select by; without facets every rule runs on the series. */
  readonly facets?: SeriesFacets | undefined;
  /** Scores of its busiest day (UTC). It decides whether the series is one of its own where a rule splits. */
  readonly busiestDayScores?: number;
}

export interface Backtest {
  add(record: ScoreRecord): void;
  /** Folds empty buckets up to the last bucket of all series, or up to a time (Unix milliseconds), and returns the results. */
  finish(untilMs?: number): BacktestResult[];
}

/**
 * Starts a backtest: folds scores into every rule of every group on every series, as the live monitors would have done. Scores
 * come in order of time; the order within a bucket is free. Paused rules are left out. Empty buckets between two buckets count
 * as checks.
 */
export function createBacktest(groups: readonly MonitorGroup[], series: readonly BacktestSeries[]): Backtest {
  const folders = groups.map((group) => groupFolder(group, series));
  return {
    add(record) {
      for (const folder of folders) {
        folder.add(record);
      }
    },
    finish: (untilMs) => folders.flatMap((folder) => folder.finish(untilMs)),
  };
}

function groupFolder(group: MonitorGroup, series: readonly BacktestSeries[]): Backtest {
  const rules = group.rules.filter((rule) => !rule.paused);
  const watched = series.map((each) => rules.filter((rule) => isWatched(rule, each)));
  const { falseAlarmBudget: budget, intervalMs } = group;
  const shares = shareByTenant(
    watched.flatMap((ofSeries, index) => ofSeries.map(() => series[index]?.facets?.tenant ?? '')),
  );
  const detectors = new Map(
    [...shares].map(([tenant, count]) => {
      const thresholds = thresholdsFor({ budget, series: count, intervalMs });
      return [tenant, new Map(rules.map((rule) => [rule, createDetector(rule.detection, thresholds)]))];
    }),
  );
  const watches = series.map((each, index) =>
    (watched[index] ?? []).map((rule) =>
      startWatch(rule, each, detectors.get(each.facets?.tenant ?? '')?.get(rule) as AnyDetector),
    ),
  );
  let bucketMs = Number.NaN;
  let open = new Map<number, Map<number, number>>();

  function close(): void {
    for (const [position, counts] of open) {
      const bucket = buildBucket(bucketMs, counts);
      for (const watch of watches[position] ?? []) {
        fold(watch, bucket);
      }
    }
    open = new Map();
  }

  return {
    add({ series: position, atMs, step }: ScoreRecord): void {
      const startMs = Math.floor(atMs / group.intervalMs) * group.intervalMs;
      if (startMs !== bucketMs) {
        close();
        bucketMs = startMs;
      }
      const counts = open.get(position) ?? new Map<number, number>();
      counts.set(step, (counts.get(step) ?? 0) + 1);
      open.set(position, counts);
    },
    finish(untilMs): BacktestResult[] {
      close();
      const lastMs =
        untilMs === undefined ? bucketMs : Math.floor(untilMs / group.intervalMs - 1) * group.intervalMs;
      return watches.flat().map((watch) => {
        fold(watch, { startMs: lastMs, scores: NO_SCORES, outcomes: NO_OUTCOMES });
        return buildResult(watch);
      });
    },
  };
}

/** Computes the scores a day that a split series needs. A series known by name alone counts as one series under any split. */
function computeMinDailyScores({ split }: MonitorRule, { facets }: BacktestSeries): number {
  return facets === undefined ? 0 : (split?.minDailyScores ?? 0);
}

function isWatched(rule: MonitorRule, series: BacktestSeries): boolean {
  const { facets, busiestDayScores = 0 } = series;
  return (
    (facets === undefined || isSelected(rule, facets)) &&
    busiestDayScores >= computeMinDailyScores(rule, series)
  );
}

function startWatch(rule: MonitorRule, series: BacktestSeries, detector: AnyDetector): Watch {
  return {
    rule,
    seriesName: series.name,
    detector,
    minDailyScores: computeMinDailyScores(rule, series),
    traffic: NO_TRAFFIC,
    state: createSeries(detector),
    transitions: [],
  };
}

/** Folds a bucket. A split series begins with the bucket that reaches the required traffic, as with live scores. */
function fold(watch: Watch, bucket: Bucket): void {
  if (watch.state.lastBucketMs === null) {
    const { count } = sumHistogram(bucket.scores);
    watch.traffic = countTraffic(watch.traffic, bucket.startMs, count, watch.minDailyScores);
    if (!hasTraffic(watch.traffic, bucket.startMs)) {
      return;
    }
  }
  const folded = foldBucket(watch.detector, watch.rule.terms, watch.state, bucket);
  watch.state = folded.state;
  watch.transitions.push(...folded.transitions);
}

function buildBucket(startMs: number, counts: ReadonlyMap<number, number>): Bucket {
  const scores = histogramOfSteps(counts);
  return { startMs, scores, outcomes: { ...NO_OUTCOMES, scored: sumHistogram(scores).count } };
}

function buildResult({ rule, seriesName, detector, state, transitions }: Watch): BacktestResult {
  const { baseline, limit } = detector.gauges(state.detector);
  return {
    alert: rule.alert,
    series: seriesName,
    scores: state.scores,
    checks: state.checks,
    finalState: state.phase,
    transitions,
    baseline,
    limit,
  };
}
