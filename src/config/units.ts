import { z } from 'zod';
import { ConfigError } from '../domain/errors.ts';
import { DAY_MS, HOUR_MS, LAST_MOMENT_MS, MINUTE_MS, SECOND_MS } from '../domain/durations.ts';

const UNIT_MS = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;

/** Format of a duration: a whole number and a unit. */
export const DURATION_PATTERN = /^(\d{1,9})(ms|s|m|h|d)$/;

/** Format of a time: a duration before now, `now`, or a date and perhaps a time. */
export const MOMENT_PATTERN = /^(now|\d{1,9}(ms|s|m|h|d)|\d{4}-\d{2}-\d{2}.*)$/;

/** Parses `5s`, `15m` or `30d` to milliseconds. Returns undefined for text that is no duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text.trim());
  if (match === null) {
    return undefined;
  }
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

/** Words for a date and time that the store can hold, after "write". */
export const DATE_WORDS = 'a date and time from 1970-01-01 to 2262-04-11 (2026-11-21T07:00:00Z)';

/** Words for a text that `parseMomentMs` reads, after "write". */
export const MOMENT_WORDS = `a time before now (15m, 24h, 30d) or ${DATE_WORDS}; without a zone it is UTC`;

/**
 * Parses a time before now (`1h`, `30d`), `now`, or a date and time that the store can hold, to Unix milliseconds. Returns
 * undefined for any other text.
 */
export function parseMomentMs(text: string, nowMs: number): number | undefined {
  const agoMs = text === 'now' ? 0 : parseDurationMs(text);
  if (agoMs !== undefined) {
    // A time long ago means everything: nothing is stored from before 1970.
    return Math.max(0, nowMs - agoMs);
  }
  const atMs = parseDateMs(text.replace(' ', 'T'));
  return atMs >= 0 && atMs <= LAST_MOMENT_MS ? atMs : undefined;
}

const DATE = z.iso.date();
const DATE_TIME = z.iso.datetime({ offset: true, local: true });

/** Parses an ISO 8601 date, or date and time, to Unix milliseconds; in UTC without a zone. Returns NaN for a date that does not exist. */
function parseDateMs(text: string): number {
  if (DATE.safeParse(text).success) {
    return Date.parse(text);
  }
  const hasZone = /(Z|[+-]\d{2}:\d{2})$/.test(text);
  return DATE_TIME.safeParse(text).success ? Date.parse(hasZone ? text : `${text}Z`) : Number.NaN;
}

/** Like `parseDurationMs`, for text that the schema has checked. Throws a `ConfigError` for any other text. */
export function durationMs(text: string): number {
  const value = parseDurationMs(text);
  if (value === undefined) {
    throw new ConfigError(
      `"${text}" is no duration: write a number and a unit, like 500ms, 5s, 15m, 24h or 30d`,
    );
  }
  return value;
}

/** Like `durationMs`, in days. */
export function durationDays(text: string): number {
  return durationMs(text) / UNIT_MS.d;
}

const UNIT_BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Format of a size in memory: a whole number and a unit. */
export const BYTE_SIZE_PATTERN = /^(\d{1,9})(B|KiB|MiB|GiB)$/;

/** Parses `256MiB` or `1GiB` to bytes. Returns undefined for text that is no size. */
export function parseByteSize(text: string): number | undefined {
  const match = BYTE_SIZE_PATTERN.exec(text.trim());
  return match === null ? undefined : Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
}

/** Like `parseByteSize`, for text that the schema has checked. Throws a `ConfigError` for any other text. */
export function byteSize(text: string): number {
  const value = parseByteSize(text);
  if (value === undefined) {
    throw new ConfigError(`"${text}" is no size: write a number and a unit, like 256MiB or 1GiB`);
  }
  return value;
}

const SECONDS = { s: 1, m: 60, h: 3_600 } as const;

/** Reads a rate like `50/s`, `600/m` or `1000/h` as a number a second; undefined for any other text. */
export function parseRatePerSecond(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?:\/([smh]))?$/.exec(text.trim());
  const rate = Number(match?.[1] ?? 0) / SECONDS[(match?.[2] ?? 's') as keyof typeof SECONDS];
  return rate > 0 ? rate : undefined;
}
