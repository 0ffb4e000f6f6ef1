/** True when `actual` contains `wanted` in its order, with any items between. */
export function isSubsequence(wanted: readonly string[], actual: readonly string[]): boolean {
  let next = 0;
  for (const item of actual) {
    if (item === wanted[next]) {
      next += 1;
    }
  }
  return next === wanted.length;
}
