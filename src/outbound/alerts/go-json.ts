/** As programs in Go write it: with `<`, `>`, `&` and line separators escaped, and a line's end. */
export function goJson(value: unknown): string {
  const text = JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${text}\n`;
}

/** RFC 3339 as programs in Go write it: without zeros that say nothing. */
export function goTime(unixMs: number): string {
  return new Date(unixMs).toISOString().replace(/\.?0+Z$/, 'Z');
}

/** The time that says "not yet" in Go. */
export const GO_ZERO_TIME = '0001-01-01T00:00:00Z';
