/** Formats Unix milliseconds as ISO 8601 in UTC; null for null, and for a time outside the range of dates. */
export function isoTime(unixMs: number | null): string | null {
  return unixMs === null || !(Math.abs(unixMs) <= 8.64e15) ? null : new Date(unixMs).toISOString();
}
