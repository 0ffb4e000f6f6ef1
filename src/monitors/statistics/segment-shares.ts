import type { AlertSegment } from '../alert-event.ts';

/** Scores of one part of the traffic. */
export interface SegmentSums {
  readonly dimension: AlertSegment['dimension'];
  readonly value: string;
  readonly count: number;
  /** Sum of directed scores. */
  readonly sum: number;
}

/** Most values of a dimension in an alert; those with the largest contribution are kept. */
const MAX_VALUES = 10;

/**
 * Computes the contribution of each part of the traffic to a change of the mean: its missing sum of scores as a share of the
 * whole. When nothing is missing, or no earlier mean is known, it is the part's share of the scores. A dimension without values
 * is left out.
 */
export function segmentShares(parts: readonly SegmentSums[], before: number | null): AlertSegment[] {
  const dimensions = [...Map.groupBy(parts, ({ dimension }) => dimension).values()];
  const known = dimensions.filter((values) => values.some(({ value }) => value !== ''));
  return known.flatMap((values) => {
    const total = values.reduce((all, part) => all + computeLack(part, before), 0);
    const count = values.reduce((all, part) => all + part.count, 0);
    return values
      .map((part) => ({
        dimension: part.dimension,
        value: part.value,
        count: part.count,
        mean: part.sum / part.count,
        share: total > 0 ? computeLack(part, before) / total : part.count / count,
      }))
      .sort((a, b) => b.share - a.share || (a.value < b.value ? -1 : 1))
      .slice(0, MAX_VALUES);
  });
}

function computeLack({ count, sum }: SegmentSums, before: number | null): number {
  return before === null ? 0 : count * before - sum;
}
