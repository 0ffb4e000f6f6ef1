/** Rounding error of sums and means of decimals, as a part of the number and at least of 1. */
export const ROUNDING = 1e-9;

/** True when a value is at or above a limit. A value that is below by a rounding error alone has reached it. */
export function reaches(value: number, limit: number): boolean {
  return value >= limit || limit - value <= ROUNDING * Math.max(1, Math.abs(value));
}

/** True when a value is below a limit by more than a rounding error. */
export function isBelow(value: number, limit: number): boolean {
  return value < limit && !reaches(value, limit);
}

/** Steps of the range of a scorer in the histograms of aggregates. A quantile is right within half a step. */
export const RANGE_STEPS = 1_000;

/** Growth of the values of two bins that are next to each other, for a scorer without a range: a quantile is right within 1 %. */
export const BIN_GROWTH = 1.02;

/**
 * Lists the edges of equal bins: over the range of a scorer, or from the least to the greatest value of histograms where it has none. One
 * value alone gets a bin around it.
 */
export function listEdges(
  histograms: readonly ({ readonly values: readonly number[] } | null)[],
  {
    scoreMin,
    scoreMax,
    bins,
  }: { readonly scoreMin: number | null; readonly scoreMax: number | null; readonly bins: number },
): number[] {
  const ends = histograms.flatMap((each) => [each?.values[0] ?? [], each?.values.at(-1) ?? []].flat());
  const least = scoreMin ?? (ends.length === 0 ? 0 : Math.min(...ends));
  const greatest = scoreMax ?? (ends.length === 0 ? 1 : Math.max(...ends));
  const [from, to] = least < greatest ? [least, greatest] : [least - 0.5, least + 0.5];
  return Array.from({ length: bins + 1 }, (_, index) =>
    index === bins ? to : from + ((to - from) * index) / bins,
  );
}

/** Sums the amounts of values in bins. A bin has its lower edge; the last one has both. Values beyond the edges are in the outer bins. */
export function sumBins(
  values: readonly number[],
  amounts: readonly number[],
  edges: readonly number[],
): number[] {
  const bins = edges.length - 1;
  const from = edges[0] ?? 0;
  const width = ((edges.at(-1) ?? 1) - from) / bins;
  const sums = Array.from({ length: bins }, () => 0);
  for (const [index, value] of values.entries()) {
    // A value on an edge may be a little below it, because its histogram was computed with other roundings.
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((value - from) / width + EDGE_TOLERANCE)));
    sums[bin] = (sums[bin] ?? 0) + (amounts[index] ?? 0);
  }
  return sums;
}

/** Part of a bin by which a value may be below its edge. */
const EDGE_TOLERANCE = 1e-6;
