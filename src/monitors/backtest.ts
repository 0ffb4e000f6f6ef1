import { type Bucket, NO_OUTCOMES, NO_SCORES, SCORE_STEPS } from './bucket.ts';
import { thresholdsFor } from './false-alarms.ts';
import { type AnyDetector, detectorOf, type MonitorGroup, type MonitorRule } from './rule.ts';
import { foldBucket, type Phase, type SeriesState, startSeries, type Transition } from './series.ts';

/** One score of a backtest. */
export interface ScoreRecord {
  /** Position of the series' name in the list of names. */
  readonly series: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score, in thousandths. */
  readonly step: number;
}

/** What one rule would have done on one series. */
export interface BacktestResult {
  readonly alert: string;
  readonly series: string;
  readonly scores: number;
  readonly checks: number;
  readonly finalState: Phase;
  readonly transitions: readonly Transition[];
  /** What it expected at the end; null where it has no baseline. */
  readonly baseline: number | null;
}

/** One rule on one series, while it is folded. */
interface Watch {
  readonly rule: MonitorRule;
  readonly seriesName: string;
  readonly detector: AnyDetector;
  state: SeriesState<unknown>;
  readonly transitions: Transition[];
}

export interface Backtest {
  add(record: ScoreRecord): void;
  /** Folds silence up to the last bucket of all, or up to a time (Unix milliseconds), and tells what came of it. */
  finish(untilMs?: number): BacktestResult[];
}

/**
 * Folds scores, in order of time but for the order within a bucket, into every rule of every group on every series, as
 * the live monitors would have. A paused rule is left out. Silence between two buckets counts as checks.
 */
export function startBacktest(groups: readonly MonitorGroup[], seriesNames: readonly string[]): Backtest {
  const folders = groups.map((group) => groupFolder(group, seriesNames));
  return {
    add(record) {
      for (const folder of folders) {
        folder.add(record);
      }
    },
    finish: (untilMs) => folders.flatMap((folder) => folder.finish(untilMs)),
  };
}

function groupFolder(group: MonitorGroup, seriesNames: readonly string[]): Backtest {
  const rules = group.rules.filter((rule) => !rule.paused);
  const thresholds = thresholdsFor({
    budget: group.falseAlarmBudget,
    series: Math.max(1, rules.length * seriesNames.length),
    intervalMs: group.intervalMs,
  });
  const detectors = rules.map((rule) => detectorOf(rule.detection, thresholds));
  const watches = seriesNames.map((seriesName) =>
    rules.map((rule, index): Watch => {
      const detector = detectors[index] as AnyDetector;
      return { rule, seriesName, detector, state: startSeries(detector), transitions: [] };
    }),
  );
  let bucketMs = Number.NaN;
  let open = new Map<number, Map<number, number>>();

  function close(): void {
    for (const [series, counts] of open) {
      for (const watch of watches[series] ?? []) {
        fold(watch, bucketOf(bucketMs, counts));
      }
    }
    open = new Map();
  }

  return {
    add({ series, atMs, step }: ScoreRecord): void {
      const startMs = Math.floor(atMs / group.intervalMs) * group.intervalMs;
      if (startMs !== bucketMs) {
        close();
        bucketMs = startMs;
      }
      const counts = open.get(series) ?? new Map<number, number>();
      counts.set(step, (counts.get(step) ?? 0) + 1);
      open.set(series, counts);
    },
    finish(untilMs): BacktestResult[] {
      close();
      const lastMs =
        untilMs === undefined ? bucketMs : Math.floor(untilMs / group.intervalMs - 1) * group.intervalMs;
      return watches.flat().map((watch) => {
        fold(watch, { startMs: lastMs, scores: NO_SCORES, outcomes: NO_OUTCOMES });
        return resultOf(watch);
      });
    },
  };
}

function fold(watch: Watch, bucket: Bucket): void {
  const folded = foldBucket(watch.detector, watch.rule.terms, watch.state, bucket);
  watch.state = folded.state;
  watch.transitions.push(...folded.transitions);
}

function bucketOf(startMs: number, counts: ReadonlyMap<number, number>): Bucket {
  const steps = [...counts].sort(([a], [b]) => a - b);
  const scores = {
    values: steps.map(([step]) => step / SCORE_STEPS),
    counts: steps.map(([, count]) => count),
  };
  const scored = scores.counts.reduce((sum, count) => sum + count, 0);
  return { startMs, scores, outcomes: { ...NO_OUTCOMES, scored } };
}

function resultOf({ rule, seriesName, detector, state, transitions }: Watch): BacktestResult {
  return {
    alert: rule.alert,
    series: seriesName,
    scores: state.scores,
    checks: state.checks,
    finalState: state.phase,
    transitions,
    baseline: detector.gauges(state.detector).baseline,
  };
}
