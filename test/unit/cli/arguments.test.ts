import { describe, expect, it } from 'vitest';
import {
  collectNames,
  limitUpTo,
  parseMoment,
  parseNumber,
  parseTraceId,
} from '../../../src/cli/arguments.ts';
import { chooseExitCode } from '../../../src/cli/exit-codes.ts';
import {
  AppError,
  ConfigError,
  InvalidInputError,
  NotFoundError,
  StoreUnavailableError,
} from '../../../src/domain/errors.ts';

describe('option values', () => {
  it('read a moment as a time ago or as a date', () => {
    const before = Date.now() - 3_600_000;

    expect(parseMoment('1h')).toBeGreaterThanOrEqual(before);
    expect(parseMoment('1h')).toBeLessThanOrEqual(Date.now() - 3_600_000);
    expect(parseMoment('2026-11-21T07:00:00Z')).toBe(Date.UTC(2026, 10, 21, 7));
    expect(parseMoment('2026-11-21')).toBe(Date.UTC(2026, 10, 21));
  });

  it.each(['yesterday', '', '12', '2026-13-40', '1969-12-31', '2300-01-01'])(
    'refuse %j as a moment',
    (text) => {
      expect(() => parseMoment(text)).toThrow(/^Write a time before now .* from 1970-01-01 to 2262-04-11/);
    },
  );

  it.each(['0', '-1', '1.5', 'x', '101'])('refuse %j as a limit', (text) => {
    expect(() => limitUpTo(100)(text)).toThrow(/whole number from 1/);
  });

  it('read limits, numbers, ids and names', () => {
    expect(limitUpTo(100)('7')).toBe(7);
    expect(parseNumber('-0.5')).toBe(-0.5);
    expect(() => parseNumber('a')).toThrow(/Write a number/);
    expect(parseTraceId('A'.repeat(32))).toBe('a'.repeat(32));
    expect(() => parseTraceId('abc')).toThrow(/32 hexadecimal/);
    expect(collectNames('c', collectNames('a, b', undefined))).toEqual(['a', 'b', 'c']);
    expect(() => collectNames(' ,', undefined)).toThrow(/Write a name/);
  });
});

describe('exit codes of errors', () => {
  it.each([
    [new ConfigError('x'), 78],
    [new NotFoundError('x'), 4],
    [new StoreUnavailableError('x'), 69],
    [new InvalidInputError('x'), 1],
    [new AppError('x', { code: 'cancelled', stage: 'judge', retryable: false }), 130],
    [new AppError('x', { code: 'store_missing', stage: 'store', retryable: false }), 69],
    [new AppError('x', { code: 'store_in_use', stage: 'store', retryable: true }), 1],
    [new TypeError('x'), 1],
  ])('%s ends with %i', (error, code) => {
    expect(chooseExitCode(error)).toBe(code);
  });
});
