import { DAY_MS } from './durations.ts';

/** Days before a range whose scores are its baseline. */
const BASELINE_DAYS = 14;

/** Returns the whole days before a range, which give its baseline. Times are Unix milliseconds. */
export function baselineRange(fromMs: number): { readonly fromMs: number; readonly toMs: number } {
  const toMs = Math.floor(fromMs / DAY_MS) * DAY_MS;
  return { fromMs: toMs - BASELINE_DAYS * DAY_MS, toMs };
}
