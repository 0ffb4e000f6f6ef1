/** Unix milliseconds as ISO 8601 in UTC; null for none, and for what no date can say. */
export function isoTime(unixMs: number | null): string | null {
  return unixMs === null || !(Math.abs(unixMs) <= 8.64e15) ? null : new Date(unixMs).toISOString();
}
