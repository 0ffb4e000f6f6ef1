/** The last moment that a nanosecond column holds (2262-04-11), in Unix milliseconds. */
const LAST_MS = 9_223_372_036_854;

/** Unix milliseconds as the text of a UTC time column, held within 1970 to 2262. Fractions are cut. */
export function toDateTime(ms: number): string {
  const held = Math.min(Math.max(Math.trunc(ms), 0), LAST_MS);
  return new Date(held).toISOString().replace('T', ' ').replace('Z', '');
}

/** A 64-bit count of milliseconds as ClickHouse's JSON gives it (a string), or null. */
export function fromMillis(text: string | null): number | null {
  return text === null ? null : Number(text);
}

/** A 64-bit integer as ClickHouse's JSON gives it, or null. */
export function fromInteger(text: string | number | null): number | null {
  return text === null ? null : Number(text);
}
