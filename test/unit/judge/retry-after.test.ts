import { expect, test } from 'vitest';
import { priceOf } from '../../../src/judge/judge-prices.ts';
import { retryAfterMs } from '../../../src/judge/retry-after.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['seconds', { 'retry-after': '7' }, 7000],
  ['part of a second', { 'retry-after': '0.5' }, 500],
  ['a date', { 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
  ['a date in the past', { 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
  ['milliseconds', { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
  ['nothing', {}, undefined],
  ['nonsense', { 'retry-after': '-5' }, undefined],
  ['words', { 'retry-after': 'soon' }, undefined],
])('a Retry-After of %s is read', (_form, headers, expected) => {
  expect(retryAfterMs(headers, NOW)).toBe(expected);
});

test('a dated snapshot has the price of its family, and an override wins', () => {
  expect(priceOf('openai/gpt-5-mini-2025-08-07')).toEqual(priceOf('openai/gpt-5-mini'));
  expect(priceOf('openai/gpt-5-mini', { 'openai/gpt-5-mini': { input: 9, output: 9 } })?.input).toBe(9);
  expect(priceOf('openai/toString')).toBeUndefined();
});
