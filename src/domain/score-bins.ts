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
