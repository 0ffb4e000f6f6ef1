import { LAST_MOMENT_MS } from '../domain/durations.ts';

/** Unix milliseconds as the text of a UTC time column, held within 1970 to 2262. Fractions are cut. */
export function toDateTime(ms: number): string {
  const held = Math.min(Math.max(Math.trunc(ms), 0), LAST_MOMENT_MS);
  const iso = new Date(held).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, -1)}`;
}

/** A 64-bit integer as ClickHouse's JSON gives it, or null. */
export function fromInteger(text: string | number | null): number | null {
  return text === null ? null : Number(text);
}

/** Escape of a lone surrogate in JSON, or an escaped backslash, after which no escape begins. */
const LONE_SURROGATE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/gu;

/** Returns the JSON of a row. Lone surrogates become U+FFFD: ClickHouse refuses them. */
export function toRowJson(row: unknown): string {
  const json = JSON.stringify(row);
  return json.includes('\\ud')
    ? json.replaceAll(LONE_SURROGATE, (escape) => (escape === '\\\\' ? escape : '\uFFFD'))
    : json;
}

/** Values of the parameters of a statement, by name. */
export type QueryParams = Record<string, unknown>;

/** Quotes the name of a database, table or column for a statement. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll(/[\\`]/g, String.raw`\$&`)}\``;
}
