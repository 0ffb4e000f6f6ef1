import type { AlertSegment } from '../alert-event.ts';

/** Scores of one part of the traffic since a change began, and in the time before. Sums are of directed scores. */
export interface SegmentSums {
  readonly dimension: AlertSegment['dimension'];
  readonly value: string;
  readonly count: number;
  readonly sum: number;
  readonly countBefore: number;
  readonly sumBefore: number;
}

/** Most values of a dimension in an alert; those with the largest contribution are kept. */
const MAX_VALUES = 10;

/** Change of the mean that is none. */
const NO_CHANGE = 1e-9;

/**
 * Computes the contribution of each part of the traffic to a change of the mean by Kitagawa's decomposition: each part is compared with its
 * own past, and a part that only grew or shrank counts as mix. A part without a past, as a new version, is compared with all earlier
 * scores. Without earlier scores, or without a change, the share is the part of the scores. A dimension without values is left out.
 * Source: E. M. Kitagawa, "Components of a Difference Between Two Rates", JASA 50 (1955).
 */
export function segmentShares(parts: readonly SegmentSums[]): AlertSegment[] {
  const dimensions = [...Map.groupBy(parts, ({ dimension }) => dimension).values()];
  const known = dimensions.filter((values) => values.some(({ value }) => value !== ''));
  return known.flatMap((values) => {
    const all = totalOf(values);
    const change = all.before === null ? 0 : all.mean - all.before;
    const isKnown = Math.abs(change) > NO_CHANGE;
    const shareOf = (part: SegmentSums) =>
      isKnown ? computeWithin(part, all) / change : part.count / all.count;
    const shares = values.map((part) => (part.count === 0 ? 0 : shareOf(part)));
    const mixShare = isKnown ? 1 - shares.reduce((sum, share) => sum + share, 0) : 0;
    return values
      .map((part, index) => ({
        dimension: part.dimension,
        value: part.value,
        count: part.count,
        mean: part.sum / part.count,
        before: part.countBefore === 0 ? null : part.sumBefore / part.countBefore,
        isNew: all.before !== null && part.countBefore === 0,
        share: shares[index] ?? 0,
        mixShare,
      }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.share - a.share || (a.value < b.value ? -1 : 1))
      .slice(0, MAX_VALUES);
  });
}

interface Total {
  readonly count: number;
  readonly countBefore: number;
  readonly mean: number;
  readonly before: number | null;
}

function totalOf(values: readonly SegmentSums[]): Total {
  const add = (read: (part: SegmentSums) => number) => values.reduce((total, part) => total + read(part), 0);
  const [count, countBefore] = [add((part) => part.count), add((part) => part.countBefore)];
  const before = countBefore === 0 ? null : add((part) => part.sumBefore) / countBefore;
  return { count, countBefore, mean: add((part) => part.sum) / count, before };
}

/** Computes the change of the mean of all that comes from within a part. */
function computeWithin({ count, sum, countBefore, sumBefore }: SegmentSums, all: Total): number {
  const weight = count / all.count;
  if (countBefore === 0) {
    return weight * (sum / count - (all.before ?? 0));
  }
  return ((weight + countBefore / all.countBefore) / 2) * (sum / count - sumBefore / countBefore);
}
