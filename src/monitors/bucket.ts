/**
 * Scores of one bucket of time, directed (0 worst, 1 best) and rounded to thousandths: `counts[i]` scores of `values[i]`.
 * Values ascend and are unique, so that equal scores in any order of arrival give the same result.
 */
export interface ScoreHistogram {
  readonly values: readonly number[];
  readonly counts: readonly number[];
}

export interface IntervalScores {
  /** Start of the interval, Unix milliseconds. */
  readonly startMs: number;
  readonly scores: ScoreHistogram;
}

export interface Bucket extends IntervalScores {
  /** Counts of the scorer's decisions in this bucket, by outcome. */
  readonly outcomes: Outcomes;
  /** True when no process ran for a part of the bucket, so that missing scores say nothing about the agent. */
  readonly isUnobserved?: boolean;
}

/** Decisions of one scorer, counted by the outcomes that monitors use. */
export interface Outcomes {
  readonly scored: number;
  /** Decisions without a score because of an error of the scorer or the judge. */
  readonly failed: number;
  /** Decisions that wait for the judge or the budget. */
  readonly deferred: number;
}

export const NO_SCORES: ScoreHistogram = { values: [], counts: [] };
export const NO_OUTCOMES: Outcomes = { scored: 0, failed: 0, deferred: 0 };

/** Steps of a score: monitors round to thousandths, so closer scores are equal. */
export const SCORE_STEPS = 1000;

/** Builds the histogram of directed scores between 0 and 1. */
export function buildHistogram(scores: Iterable<number>): ScoreHistogram {
  const counts = new Map<number, number>();
  for (const score of scores) {
    const step = Math.round(score * SCORE_STEPS);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return histogramOfSteps(counts);
}

/** Builds a histogram from the number of scores at each thousandth. */
export function histogramOfSteps(counts: ReadonlyMap<number, number>): ScoreHistogram {
  const steps = [...counts].sort(([a], [b]) => a - b);
  return { values: steps.map(([step]) => step / SCORE_STEPS), counts: steps.map(([, count]) => count) };
}

export function mergeHistograms(histograms: readonly ScoreHistogram[]): ScoreHistogram {
  const counts = new Map<number, number>();
  for (const histogram of histograms) {
    for (let index = 0; index < histogram.values.length; index += 1) {
      const step = Math.round((histogram.values[index] ?? 0) * SCORE_STEPS);
      counts.set(step, (counts.get(step) ?? 0) + (histogram.counts[index] ?? 0));
    }
  }
  return histogramOfSteps(counts);
}

/** Builds a histogram of `good` ones and `bad` zeros. */
export function onesAndZeros(good: number, bad: number): ScoreHistogram {
  const entries = [[0, bad] as const, [1, good] as const].filter(([, count]) => count > 0);
  return { values: entries.map(([value]) => value), counts: entries.map(([, count]) => count) };
}

/** Mirrors a histogram: 1 becomes 0. */
export function mirrorHistogram({ values, counts }: ScoreHistogram): ScoreHistogram {
  return { values: values.map((value) => 1 - value), counts };
}

/** Sums a histogram: returns the number of scores and their sum. */
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
