import { sumHistogram } from '../bucket.ts';
import type { Detector, Finding } from '../detector.ts';
import { QUIET } from '../detector.ts';

export interface ThresholdTerms {
  /** It breaches when the mean of the window lies below. */
  readonly minimum: number;
  /** It ends when the mean of the window lies at or above: at least `minimum`. */
  readonly recovery: number;
  readonly windowMs: number;
  /** Fewer scores than this in the window say nothing: what held goes on to hold. */
  readonly minScores: number;
}

export interface ThresholdState {
  /** Buckets with scores within the window, oldest first. */
  readonly window: readonly (readonly [startMs: number, count: number, sum: number])[];
  readonly finding: Finding | null;
}

/**
 * Threshold: the mean of a sliding window against a fixed line, as dashboards have it. Its false alarms are not bounded:
 * it looks again at each check. For those who know that and want it.
 */
export function thresholdDetector(terms: ThresholdTerms): Detector<ThresholdState> {
  return {
    start: () => ({ window: [], finding: null }),
    step(state, { startMs, scores }) {
      const { count, sum } = sumHistogram(scores);
      const within = state.window.filter(([bucketMs]) => bucketMs > startMs - terms.windowMs);
      const window = count > 0 ? [...within, [startMs, count, sum] as const] : within;
      return { window, finding: judge(window, state.finding) };
    },
    verdict: ({ finding }) => (finding ? { kind: 'breached', finding } : QUIET),
    gauges: () => ({ baseline: terms.minimum, evidenceLog10: null }),
  };

  function judge(window: ThresholdState['window'], held: Finding | null): Finding | null {
    const count = window.reduce((total, [, bucketCount]) => total + bucketCount, 0);
    const oldest = window[0];
    if (count < terms.minScores || oldest === undefined) {
      return held;
    }
    const after = window.reduce((total, [, , sum]) => total + sum, 0) / count;
    if (held !== null) {
      const latest = after < terms.minimum ? { ...held, after, count } : held;
      return after >= terms.recovery ? null : latest;
    }
    return after < terms.minimum
      ? { changeBeganMs: oldest[0], before: terms.minimum, after, count, evidenceLog10: null }
      : null;
  }
}
