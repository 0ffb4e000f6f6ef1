import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { AppError, StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { currentDays, listExpiries } from '../../../src/store/schema/table-settings.ts';
import { toNanos } from '../../../src/store/spans/trace-starts.ts';
import { toStoreError } from '../../../src/store/store-error.ts';
import { toDateTime, toRowJson } from '../../../src/store/values.ts';

describe('times', () => {
  test.each([
    [0, '1970-01-01 00:00:00.000'],
    [1_763_700_000_123.9, '2025-11-21 04:40:00.123'],
    [-5, '1970-01-01 00:00:00.000'],
    [Number.MAX_SAFE_INTEGER, '2262-04-11 23:47:16.854'],
  ])('%d ms are %s', (ms, text) => {
    expect(toDateTime(ms)).toBe(text);
  });

  test.each([
    [1.9, '1000000'],
    [-1, '0'],
    [Number.POSITIVE_INFINITY, String(2n ** 63n - 1n)],
  ])('%d ms are %s ns', (ms, text) => {
    expect(toNanos(ms)).toBe(text);
  });
});

describe('rows', () => {
  test.each([
    ['half \uD83D pair', 'half \uFFFD pair'],
    ['\uDE00 is a half, too', '\uFFFD is a half, too'],
    ['a whole \u{1F600} pair', 'a whole \u{1F600} pair'],
    ['the letters \\ud83d', 'the letters \\ud83d'],
    ['\\\uD83D\n"\u0000', '\\\uFFFD\n"\u0000'],
  ])('%j is stored as %j', (given, stored) => {
    expect(JSON.parse(toRowJson({ Reason: given, [given]: [given] }))).toEqual({
      Reason: stored,
      [stored]: [stored],
    });
  });
});

describe('expiry', () => {
  test('never takes a decision before the spans that it decided', () => {
    const days = (table: string) =>
      listExpiries({ spansDays: 60, scoresDays: 30 }).find(
        (expiry) => expiry.table === table && expiry.column === undefined,
      )?.days;
    expect(days('decisions')).toBe(60);
    expect(days('otel_traces')).toBe(60);
  });

  test('is read from a table as the engine shows it', () => {
    const definition =
      'CREATE TABLE x.t (`A` Date, `Verdicts` String CODEC(ZSTD(1)) TTL toDateTime(A) + toIntervalDay(30), `B` UInt8) ENGINE = MergeTree ORDER BY A TTL toDateTime(A) + toIntervalDay(400) SETTINGS x = 1';
    expect(currentDays(definition)).toBe(400);
    expect(currentDays(definition, 'Verdicts')).toBe(30);
    expect(currentDays(definition, 'B')).toBeNull();
    expect(currentDays('CREATE TABLE x.t (`A` Date) ENGINE = MergeTree ORDER BY A')).toBeNull();
  });
});

function answer(code: string, type: string): ClickHouseError {
  return new ClickHouseError({ message: 'it says so\nand more', code, type });
}

describe('an error of the store', () => {
  test.each([
    ['252', 'TOO_MANY_PARTS'],
    ['241', 'MEMORY_LIMIT_EXCEEDED'],
    ['159', 'TIMEOUT_EXCEEDED'],
    ['242', 'TABLE_IS_READ_ONLY'],
    ['60', 'UNKNOWN_TABLE'],
    ['516', 'AUTHENTICATION_FAILED'],
  ])('of code %s (%s) may pass: the rows are fine', (code, type) => {
    const error = toStoreError(answer(code, type), 'inserting');
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ retryable: true, retryAfterMs: 1000 });
    expect(error.message).toContain(type);
  });

  test.each([
    ['117', 'INCORRECT_DATA'],
    ['62', 'SYNTAX_ERROR'],
    ['16', 'NO_SUCH_COLUMN_IN_TABLE'],
  ])('of code %s (%s) will come again', (code, type) => {
    const cause = answer(code, type);
    const error = toStoreError(cause, 'inserting');
    expect(error).toBeInstanceOf(StoreRejectedError);
    expect(error).toMatchObject({ retryable: false, cause, details: { clickhouseCode: Number(code) } });
    expect(error.message).not.toContain('and more');
  });

  test('that does not come from the server means that it was not reached', () => {
    const error = toStoreError(
      new AggregateError([new Error('refused on ::1'), new Error('refused')], ''),
      'reading',
    );
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.message).toContain('refused on ::1; refused');
  });

  test('that is an AppError already stays unchanged', () => {
    const known = new AppError('x', { code: 'bug', stage: 'store', retryable: false });
    expect(toStoreError(known, 'reading')).toBe(known);
  });
});
