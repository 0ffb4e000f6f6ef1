import { isBelow, reaches } from '../../domain/limits.ts';
import { sumHistogram } from '../bucket.ts';
import type { Detector, Finding } from '../detector.ts';
import { QUIET } from '../detector.ts';

export interface ThresholdTerms {
  /** Mean of the window below which the condition holds. */
  readonly minimum: number;
  /** Mean of the window at or above which the condition ends; at least `minimum`. */
  readonly recovery: number;
  readonly windowMs: number;
  /** Fewest scores in the window for a decision; with fewer, the condition stays as it is. */
  readonly minScores: number;
}

export interface ThresholdState {
  /** Buckets with scores within the window, oldest first. */
  readonly window: readonly (readonly [startMs: number, count: number, sum: number])[];
  readonly finding: Finding | null;
}

/**
 * Threshold: compares the mean of a sliding window with a fixed limit, as dashboards do. Its false alarms are not bounded,
 * because it tests again at each check.
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
    condition: ({ finding }) => (finding ? { kind: 'breached', finding } : QUIET),
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
      const latest = isBelow(after, terms.minimum) ? { ...held, after, count } : held;
      return reaches(after, terms.recovery) ? null : latest;
    }
    return isBelow(after, terms.minimum)
      ? { changeBeganMs: oldest[0], before: terms.minimum, after, count, evidenceLog10: null }
      : null;
  }
}
