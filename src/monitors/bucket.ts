/**
 * The scores of one bucket of time, directed (0 worst, 1 best) and rounded to thousandths: `counts[i]` scores of
 * `values[i]`. Values rise and each stands once, so that equal scores in any order of arrival fold alike.
 */
export interface ScoreHistogram {
  readonly values: readonly number[];
  readonly counts: readonly number[];
}

/** Content of one closed bucket of a series. */
export interface Bucket {
  /** Start of the bucket, Unix milliseconds. */
  readonly startMs: number;
  readonly scores: ScoreHistogram;
  /** Counts of the scorer's decisions in this bucket by outcome. */
  readonly outcomes: Outcomes;
}

/** Decisions of one scorer by their end; only what concerns monitors. */
export interface Outcomes {
  readonly scored: number;
  /** Ended without a score for an error of scorer or judge. */
  readonly failed: number;
  /** Waiting for the judge or the budget. */
  readonly deferred: number;
}

export const NO_SCORES: ScoreHistogram = { values: [], counts: [] };
export const NO_OUTCOMES: Outcomes = { scored: 0, failed: 0, deferred: 0 };

/** Scores a step of a histogram apart are one value: monitors see thousandths. */
export const SCORE_STEPS = 1000;

/** The histogram of directed scores, each within 0 and 1. */
export function buildHistogram(scores: Iterable<number>): ScoreHistogram {
  const counts = new Map<number, number>();
  for (const score of scores) {
    const step = Math.round(score * SCORE_STEPS);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return histogramOfSteps(counts);
}

/** The histogram of how many scores each thousandth has. */
export function histogramOfSteps(counts: ReadonlyMap<number, number>): ScoreHistogram {
  const steps = [...counts].sort(([a], [b]) => a - b);
  return { values: steps.map(([step]) => step / SCORE_STEPS), counts: steps.map(([, count]) => count) };
}

/** A histogram of `good` ones and `bad` zeros. */
export function onesAndZeros(good: number, bad: number): ScoreHistogram {
  const entries = [[0, bad] as const, [1, good] as const].filter(([, count]) => count > 0);
  return { values: entries.map(([value]) => value), counts: entries.map(([, count]) => count) };
}

/** Sums a histogram: the number of scores, and their sum. */
export function sumHistogram({ values, counts }: ScoreHistogram): {
  readonly count: number;
  readonly sum: number;
} {
  let count = 0;
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) {
    const times = counts[index] ?? 0;
    count += times;
    sum += times * (values[index] ?? 0);
  }
  return { count, sum };
}
