import { describe, expect, test } from 'vitest';
import { currentDays, listExpiries } from '../../../src/store/schema/table-settings.ts';
import { toNanos } from '../../../src/store/spans/trace-starts.ts';
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
