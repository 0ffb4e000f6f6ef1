import { expect, test } from 'vitest';
import { retryAfterMs } from '../../../../src/outbound/http/retry-after.ts';

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
