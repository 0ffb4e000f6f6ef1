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
