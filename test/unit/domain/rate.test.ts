import { expect, test } from 'vitest';
import { buildRate, isDifferent, weighDifference, type Rate } from '../../../src/domain/agreement/rate.ts';

function rateOf(passing: number, n: number): Rate {
  const rate = buildRate({ value: passing / n, n, effectiveN: n });
  if (rate === null) {
    throw new TypeError('a rate needs observations');
  }
  return rate;
}

test('a rate without observations is null', () => {
  expect(buildRate({ value: 0, n: 0, effectiveN: 0 })).toBeNull();
});

test.each([
  [rateOf(95, 100), rateOf(60, 100), true],
  [rateOf(60, 100), rateOf(95, 100), true],
  [rateOf(5, 5), rateOf(3, 5), false],
  [rateOf(50, 100), rateOf(52, 100), false],
  [rateOf(10, 10), rateOf(0, 10), true],
] as const)('the rates %o and %o differ: %s', (a, b, isShown) => {
  expect(isDifferent(a, b)).toBe(isShown);
});

test('the e-value of equal rates is 1 at most on average, whatever the common rate is', () => {
  const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n - 1, k - 1) * n) / k);
  const probability = (n: number, k: number, p: number) => choose(n, k) * p ** k * (1 - p) ** (n - k);
  for (const p of [0.05, 0.5, 0.9]) {
    let mean = 0;
    for (let left = 0; left <= 12; left += 1) {
      for (let right = 0; right <= 30; right += 1) {
        const e = Math.exp(weighDifference(rateOf(left, 12), rateOf(right, 30)));
        mean += probability(12, left, p) * probability(30, right, p) * e;
      }
    }
    expect(mean).toBeCloseTo(1, 6);
  }
});

test('the e-value grows with the difference and with the number of runs', () => {
  const log10 = (a: Rate, b: Rate) => weighDifference(a, b) / Math.LN10;
  expect(log10(rateOf(190, 200), rateOf(132, 200))).toBeGreaterThan(10);
  expect(log10(rateOf(19, 20), rateOf(13, 20))).toBeLessThan(1.5);
  expect(log10(rateOf(100, 200), rateOf(102, 200))).toBeLessThan(0);
});
