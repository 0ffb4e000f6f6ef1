/** Units of time in milliseconds. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;

/** The last moment that a nanosecond column of the store holds (2262-04-11), in Unix milliseconds. */
export const LAST_MOMENT_MS = 9_223_372_036_854;

export function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

/** Days before a range whose scores are its baseline. */
const BASELINE_DAYS = 14;

/** Returns the whole days before a range, which give its baseline. Times are Unix milliseconds. */
export function baselineRange(fromMs: number): { readonly fromMs: number; readonly toMs: number } {
  const toMs = startOfDay(fromMs);
  return { fromMs: toMs - BASELINE_DAYS * DAY_MS, toMs };
}
