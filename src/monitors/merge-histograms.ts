import type { ScoreHistogram } from './bucket.ts';

/** The scores of several histograms as one. */
export function mergeHistograms(histograms: readonly ScoreHistogram[]): ScoreHistogram {
  const counts = new Map<number, number>();
  for (const histogram of histograms) {
    for (let index = 0; index < histogram.values.length; index += 1) {
      const value = histogram.values[index] ?? 0;
      counts.set(value, (counts.get(value) ?? 0) + (histogram.counts[index] ?? 0));
    }
  }
  const entries = [...counts].sort(([a], [b]) => a - b);
  return { values: entries.map(([value]) => value), counts: entries.map(([, count]) => count) };
}
