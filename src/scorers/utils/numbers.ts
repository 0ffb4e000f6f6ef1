/** Rounds to two decimals, halves up; corrects values like 1.005, which doubles store slightly too low. */
export function roundToTwoDecimals(value: number): number {
  return Math.round((value + Number.EPSILON) * 100) / 100;
}

/** True when `value` lies strictly nearer to `a` than to `b`. */
export function isCloserTo(value: number, a: number, b: number): boolean {
  return Math.abs(value - a) < Math.abs(value - b);
}
