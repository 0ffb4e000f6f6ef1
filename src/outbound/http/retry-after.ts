/**
 * Reads a `Retry-After` header (seconds, or an HTTP date) or `retry-after-ms` as milliseconds from now. Undefined when absent
 * or unreadable; 0 for a date in the past.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  nowMs: number,
): number | undefined {
  const milliseconds = readNumber(headers?.['retry-after-ms']);
  if (milliseconds !== undefined) {
    return Math.ceil(milliseconds);
  }
  const value = headers?.['retry-after']?.trim();
  if (value === undefined || value === '') {
    return undefined;
  }
  const seconds = readNumber(value);
  if (seconds !== undefined) {
    return Math.ceil(seconds * 1000);
  }
  // An HTTP date begins with a weekday; Date.parse would read a stray "-5" as a year.
  const date = /^[A-Za-z]/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}
