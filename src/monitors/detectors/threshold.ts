import { isBelow, reaches } from '../../domain/limits.ts';
import { sumHistogram } from '../bucket.ts';
import { type Detector, type Finding, QUIET } from '../detector.ts';

export interface ThresholdTerms {
  /** Mean of the window below which the condition holds. */
  readonly minimum: number;
  /** Mean of the window at or above which the condition ends; at least `minimum`. */
  readonly recovery: number;
  readonly windowMs: number;
  /** Fewest scores for a decision. A breached condition with fewer in its window is judged by so many newest scores. */
  readonly minScores: number;
}

type Buckets = readonly (readonly [startMs: number, count: number, sum: number])[];

export interface ThresholdState {
  /** Buckets with scores within the window, or with the newest `minScores` scores; oldest first. */
  readonly window: Buckets;
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
      const all = count > 0 ? [...state.window, [startMs, count, sum] as const] : state.window;
      const beginMs = startMs - terms.windowMs;
      const window = all.slice(Math.min(findNewest(all), findWithin(all, beginMs)));
      const within = window.slice(findWithin(window, beginMs));
      const isThin = state.finding !== null && countScores(within) < terms.minScores;
      return { window, finding: judge(isThin ? window : within, state.finding) };
    },
    condition: ({ finding }) => (finding ? { kind: 'breached', finding } : QUIET),
    gauges: () => ({ baseline: null, limit: terms.minimum, evidenceLog10: null }),
  };

  /** Finds the first of the newest buckets that have `minScores` scores together; 0 when all have fewer. */
  function findNewest(window: Buckets): number {
    let [first, count] = [window.length, 0];
    while (first > 0 && count < terms.minScores) {
      first -= 1;
      count += window[first]?.[1] ?? 0;
    }
    return first;
  }

  function judge(window: Buckets, held: Finding | null): Finding | null {
    const count = countScores(window);
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

function findWithin(window: Buckets, beginMs: number): number {
  const first = window.findIndex(([bucketMs]) => bucketMs > beginMs);
  return first === -1 ? window.length : first;
}

function countScores(window: Buckets): number {
  return window.reduce((total, [, count]) => total + count, 0);
}
