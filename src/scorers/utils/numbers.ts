/** Rounds to two decimals, halves up; corrects values like 1.005, which doubles store slightly too low. */
export function roundToTwoDecimals(value: number): number {
  return Math.round((value + Number.EPSILON) * 100) / 100;
}

/** True when `value` lies strictly nearer to `a` than to `b`. */
export function isCloserTo(value: number, a: number, b: number): boolean {
  return Math.abs(value - a) < Math.abs(value - b);
}

/** Writes a share in percent: `62 %`; a share between 0 and 1 is never written as 0 % or 100 %. */
export function formatPercent(share: number): string {
  if (share <= 0 || share >= 1) {
    return `${share * 100} %`;
  }
  return `${Math.min(99, Math.max(1, Math.round(share * 100)))} %`;
}
