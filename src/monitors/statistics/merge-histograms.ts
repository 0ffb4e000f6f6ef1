import { histogramOfSteps, SCORE_STEPS, type ScoreHistogram } from '../bucket.ts';

/** Merges several histograms into one. */
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
