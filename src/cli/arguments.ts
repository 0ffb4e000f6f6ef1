import { InvalidArgumentError } from 'commander';
import { SECOND_MS } from '../domain/durations.ts';
import { MOMENT_WORDS, parseDurationMs, parseMomentMs } from '../config/index.ts';

/** Parsers of option values. A bad value ends the command as wrong usage (exit code 2). */

/** Returns a parser of `--limit`: a whole number from 1 to `most`. */
export function limitUpTo(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > most) {
      throw new InvalidArgumentError(`Write a whole number from 1 to ${most}.`);
    }
    return value;
  };
}

export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) {
    throw new InvalidArgumentError('Write a number.');
  }
  return value;
}

/** Parses a duration like `30m` or `2h` to milliseconds. */
export function parseSpan(text: string): number {
  const spanMs = parseDurationMs(text);
  if (spanMs === undefined || spanMs <= 0) {
    throw new InvalidArgumentError('Write a duration: 30m, 2h, 7d.');
  }
  return spanMs;
}

export function writeSpan(spanMs: number): string {
  return spanMs % SECOND_MS === 0 ? `${spanMs / SECOND_MS}s` : `${spanMs}ms`;
}

/** Parses a time before now (`1h`, `30d`) or a date and time. Returns Unix milliseconds. */
export function parseMoment(text: string): number {
  const atMs = parseMomentMs(text, Date.now());
  if (atMs === undefined) {
    throw new InvalidArgumentError(`Write ${MOMENT_WORDS}.`);
  }
  return atMs;
}

/** Collects scorer names: `--scorer a,b --scorer c` gives a, b, c. */
export function collectNames(text: string, previous: readonly string[] | undefined): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) {
    throw new InvalidArgumentError('Write a name.');
  }
  return [...(previous ?? []), ...names];
}

/** True for 32 hex digits, the form of a trace id. */
export function isTraceId(text: string): boolean {
  return /^[0-9a-fA-F]{32}$/.test(text);
}

export function parseTraceId(text: string): string {
  if (!isTraceId(text)) {
    throw new InvalidArgumentError('A trace id has 32 hexadecimal digits.');
  }
  return text.toLowerCase();
}
