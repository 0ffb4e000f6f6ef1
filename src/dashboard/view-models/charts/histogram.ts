import type { Replies } from '../../api-types.ts';
import { formatNumber, formatPercent, formatScore } from '../format.ts';

export type Distribution = Replies['/distribution'];

/** One bin of two histograms. */
export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly share: number;
  /** Share before; null without a reference. */
  readonly before: number | null;
}

/** Joins both histograms bin by bin. */
export function buildBins({ edges, current, reference }: Distribution): Bin[] {
  return current.counts.map((count, index) => ({
    from: edges[index] ?? 0,
    to: edges[index + 1] ?? 0,
    count,
    share: current.shares[index] ?? 0,
    before: reference === null ? null : (reference.shares[index] ?? 0),
  }));
}

/** Writes what both histograms show, in words. */
export function describeDistribution(distribution: Distribution): string {
  const { current, reference, compareTo } = distribution;
  if (current.n === 0) {
    return 'There are no scores in this time.';
  }
  const largest = buildBins(distribution).toSorted((a, b) => b.share - a.share)[0];
  const before =
    reference === null
      ? 'There are no earlier scores to compare with.'
      : `${compareTo === 'previous' ? 'In the time before' : 'In the 14 days before'}, the mean was ${formatScore(reference.mean)} (n = ${formatNumber(reference.n)}).`;
  const most =
    largest === undefined
      ? ''
      : ` The largest bin, ${formatScore(largest.from)} to ${formatScore(largest.to)}, has ${formatPercent(largest.share)} of the traffic.`;
  return `The mean is ${formatScore(current.mean)} (n = ${formatNumber(current.n)}).${most} ${before}`;
}
