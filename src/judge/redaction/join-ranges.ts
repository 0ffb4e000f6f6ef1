/** Sorts ranges [start, end) and joins those that overlap. */
export function joinRanges(ranges: [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [start, end] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last !== undefined && start < last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      joined.push([start, end]);
    }
  }
  return joined;
}
