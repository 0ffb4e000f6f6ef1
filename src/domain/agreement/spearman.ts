/**
 * Computes Spearman's rank correlation: Pearson's correlation of the ranks, where equal values share the mean of their ranks. Null for
 * fewer than two pairs, and where one side has a single value.
 */
export function computeSpearman(pairs: readonly (readonly [left: number, right: number])[]): number | null {
  const left = rank(pairs.map(([value]) => value));
  const right = rank(pairs.map(([, value]) => value));
  const middle = (pairs.length + 1) / 2;
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (const [index, leftRank] of left.entries()) {
    const a = leftRank - middle;
    const b = (right[index] ?? 0) - middle;
    product += a * b;
    leftSquares += a * a;
    rightSquares += b * b;
  }
  return leftSquares === 0 || rightSquares === 0 ? null : product / Math.sqrt(leftSquares * rightSquares);
}

/** Returns the rank of each value, from 1; equal values share the mean of their ranks. */
function rank(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const ranks = Array.from({ length: values.length }, () => 0);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && order[end]?.value === order[start]?.value) {
      end += 1;
    }
    for (const { index } of order.slice(start, end)) {
      ranks[index] = (start + 1 + end) / 2;
    }
    start = end;
  }
  return ranks;
}
