import type { TargetKind } from '../domain/trace/agent-run.ts';
import type { SplitFacet } from '../domain/series-facets.ts';
import { type Detector, QUIET } from './detector.ts';
import { keptMeanDetector } from './detectors/kept-mean.ts';
import { distributionDetector } from './detectors/distribution.ts';
import { type Direction, driftDetector } from './detectors/drift.ts';
import { thresholdDetector } from './detectors/threshold.ts';
import type { Thresholds } from './statistics/false-alarms.ts';
import type { ReferenceTerms } from './statistics/baseline.ts';
import type { PhaseTerms } from './series.ts';
import { onesAndZeros, type ScoreHistogram, sumHistogram } from './bucket.ts';
import { DAY_MS } from '../domain/durations.ts';
import { isBelow } from '../domain/limits.ts';

/** Silence beyond `afterMs` after which an agent counts as retired and its incident ends, milliseconds. */
const RETIRED_AFTER_MS = 7 * DAY_MS;

/** Detector of a rule with its settings. Scores are directed, times are milliseconds. */
export type Detection =
  | {
      readonly kind: 'drift';
      readonly tolerance: number;
      readonly reference: ReferenceTerms;
      readonly direction: Direction;
    }
  | { readonly kind: 'floor'; readonly minimum: number }
  | { readonly kind: 'rate'; readonly below: number; readonly maxRate: number }
  | { readonly kind: 'distribution'; readonly tolerance: number; readonly reference: ReferenceTerms }
  | {
      readonly kind: 'threshold';
      readonly minimum: number;
      readonly recovery: number;
      readonly windowMs: number;
      readonly minScores: number;
    }
  | { readonly kind: 'no_data'; readonly afterMs: number }
  | { readonly kind: 'scorer_errors'; readonly maxRate: number }
  | { readonly kind: 'coverage'; readonly minimum: number };

/** Selects the series of a rule; for an absent key, each of its values is a series. */
interface SeriesSelector {
  readonly scorer?: string | undefined;
  readonly agent?: string | undefined;
  readonly environment?: string | undefined;
  readonly target?: TargetKind | undefined;
}

export interface RuleSplit {
  /** Facets in the order of `SPLIT_FACETS`; at least one. */
  readonly by: readonly SplitFacet[];
  /** Scores on one day (UTC) that make a part a series of its own; smaller parts are not watched. */
  readonly minDailyScores: number;
}

/** A monitor rule with defaults filled in. */
export interface MonitorRule {
  readonly alert: string;
  readonly detection: Detection;
  readonly series: SeriesSelector;
  /** Scorers whose rows are not those of `series.scorer`, although their names begin with its name. */
  readonly otherScorers?: readonly string[];
  /** Absent: one series for each scorer, agent and environment. */
  readonly split?: RuleSplit;
  readonly terms: PhaseTerms;
  readonly paused: boolean;
  /** Set: the alert is held unless labels of people certify the judge. */
  readonly requires?: 'certified' | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Lists the different splits of the rules; no split comes first. */
export function buildSplits(rules: readonly Pick<MonitorRule, 'split'>[]): (readonly SplitFacet[])[] {
  const asked = rules.flatMap(({ split }) => (split === undefined ? [] : [split.by]));
  return [[], ...new Map(asked.map((by) => [by.join(), by])).values()];
}

/** Rules that share an interval and an allowance of false alarms. */
export interface MonitorGroup {
  readonly name: string;
  readonly intervalMs: number;
  /** False alarms allowed in 30 days over all series of the group. */
  readonly falseAlarmBudget: number;
  readonly rules: readonly MonitorRule[];
}

/** A detector of any kind; only the detector itself can read its state. */
export type AnyDetector = Detector<unknown>;

const asIs = (mean: number) => mean;
const asRateOfBad = (mean: number) => 1 - mean;

/** Registry of detectors: each kind can be used in a rule. */
const DETECTORS: {
  readonly [Kind in Detection['kind']]: (
    detection: Extract<Detection, { kind: Kind }>,
    thresholds: Thresholds,
  ) => AnyDetector;
} = {
  drift: (detection, thresholds) => driftDetector({ ...detection, thresholds }),
  /** The mean score stays at or above a fixed limit, with bounded false alarms: it needs neither a window nor a reference. */
  floor: ({ minimum: bound }, thresholds) =>
    keptMeanDetector({ bound, thresholds, observe: ({ scores }) => scores, tell: asIs }),
  /** At most `maxRate` of the scores are below `below`, an objective such as a hallucination rate. */
  rate: ({ below, maxRate }, thresholds) =>
    keptMeanDetector({
      bound: 1 - maxRate,
      thresholds,
      observe: ({ scores }) => splitAt(scores, below),
      tell: asRateOfBad,
    }),
  distribution: (detection, thresholds) => distributionDetector({ ...detection, thresholds }),
  threshold: (detection) => thresholdDetector(detection),
  no_data: (detection) => noDataDetector(detection),
  /** At most `maxRate` of a scorer's finished runs failed. A failing judge is an alert of its own, never a low score. */
  scorer_errors: ({ maxRate }, thresholds) =>
    keptMeanDetector({
      bound: 1 - maxRate,
      thresholds,
      observe: ({ outcomes }) => onesAndZeros(outcomes.scored, outcomes.failed),
      tell: asRateOfBad,
    }),
  /** At least `minimum` of the due scores exist: one that failed, or that waits for judge or budget, counts as missing. */
  coverage: ({ minimum: bound }, thresholds) =>
    keptMeanDetector({
      bound,
      thresholds,
      observe: ({ outcomes }) => onesAndZeros(outcomes.scored, outcomes.failed + outcomes.deferred),
      tell: asIs,
    }),
};

/** Returns a one for each score at or above a limit, and a zero for each one below it. */
function splitAt({ values, counts }: ScoreHistogram, limit: number): ScoreHistogram {
  let [good, low] = [0, 0];
  for (const [index, value] of values.entries()) {
    const count = counts[index] ?? 0;
    [good, low] = isBelow(value, limit) ? [good, low + count] : [good + count, low];
  }
  return onesAndZeros(good, low);
}

export function createDetector(detection: Detection, thresholds: Thresholds): AnyDetector {
  // The table maps each kind to the function that creates its detector.
  const make = DETECTORS[detection.kind] as (detection: Detection, thresholds: Thresholds) => AnyDetector;
  return make(detection, thresholds);
}

/** Detectors over the outcomes of attempts, which score rows do not hold. */
export const OF_OUTCOMES: ReadonlySet<Detection['kind']> = new Set(['scorer_errors', 'coverage']);

/** Detectors that learn a reference, and can restart it. */
const LEARNING: ReadonlySet<Detection['kind']> = new Set(['drift', 'distribution']);

/** True when the detector has a reference that an acknowledgement restarts. */
export function isPinnable({ kind }: Pick<Detection, 'kind'>): boolean {
  return LEARNING.has(kind);
}

interface NoDataState {
  /** Start of the latest bucket with a score; null before the first score: a series that never had scores is not missed. */
  readonly lastScoreMs: number | null;
  /** Start of the latest bucket since then in which no process ran: silence is counted from there. Null without one. */
  readonly absentMs: number | null;
  readonly silent: boolean;
}

/** No data: a series that had scores has had none for `afterMs` in which a process ran. Missing scores never count as 0. */
function noDataDetector({ afterMs }: { readonly afterMs: number }): Detector<NoDataState> {
  return {
    start: () => ({ lastScoreMs: null, absentMs: null, silent: false }),
    step(state, { startMs, scores, isUnobserved }) {
      if (sumHistogram(scores).count > 0) {
        return { lastScoreMs: startMs, absentMs: null, silent: false };
      }
      const { lastScoreMs } = state;
      if (lastScoreMs === null) {
        return state;
      }
      const isRetired = startMs - lastScoreMs >= afterMs + RETIRED_AFTER_MS;
      const absentMs = isUnobserved === true ? startMs : state.absentMs;
      const isDue = startMs - Math.max(lastScoreMs, absentMs ?? lastScoreMs) >= afterMs;
      return { lastScoreMs, absentMs, silent: !isRetired && (state.silent || isDue) };
    },
    condition: ({ silent, lastScoreMs }) =>
      silent && lastScoreMs !== null
        ? {
            kind: 'breached',
            finding: { changeBeganMs: lastScoreMs, before: null, after: null, count: 0, evidenceLog10: null },
          }
        : QUIET,
    gauges: () => ({ baseline: null, limit: null, evidenceLog10: null }),
  };
}
