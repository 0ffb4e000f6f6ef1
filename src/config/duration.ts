import { ConfigError } from '../domain/errors.ts';

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Format of a duration: a whole number and a unit. */
export const DURATION_PATTERN = /^(\d{1,9})(ms|s|m|h|d)$/;

/** `5s`, `15m`, `30d` … in milliseconds; undefined when the text is no duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text.trim());
  if (match === null) {
    return undefined;
  }
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

/** As `parseDurationMs`, for a text that the schema has checked already; throws a `ConfigError` otherwise. */
export function durationMs(text: string): number {
  const value = parseDurationMs(text);
  if (value === undefined) {
    throw new ConfigError(
      `"${text}" is no duration: write a number and a unit, like 500ms, 5s, 15m, 24h or 30d`,
    );
  }
  return value;
}

/** As `durationMs`, in days. */
export function durationDays(text: string): number {
  return durationMs(text) / UNIT_MS.d;
}
