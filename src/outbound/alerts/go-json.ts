/** Writes JSON as Go programs do: `<`, `>`, `&` and line separators escaped, with a newline at the end. */
export function goJson(value: unknown): string {
  const text = JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${text}\n`;
}

/** Writes a time in RFC 3339 as Go programs do: without trailing zeros. */
export function goTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace(/\.?0+Z$/, 'Z');
}

/** Go's zero time, which means "not yet". */
export const GO_ZERO_TIME = '0001-01-01T00:00:00Z';
