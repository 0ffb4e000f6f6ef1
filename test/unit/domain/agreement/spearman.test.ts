import { expect, test } from 'vitest';
import { computeSpearman } from '../../../../src/domain/agreement/agreement.ts';

test('the rank correlation is that of a published example: IQ and hours of television', () => {
  // https://en.wikipedia.org/wiki/Spearman%27s_rank_correlation_coefficient, "Example": -29/165
  const iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110];
  const hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17];
  expect(computeSpearman(iq.map((value, index) => [value, hours[index] ?? 0]))).toBeCloseTo(-29 / 165, 12);
});

test('equal values share the mean of their ranks', () => {
  // Ranks 1.5, 1.5, 3 and 1, 2, 3: Pearson's correlation is 1.5 / sqrt(1.5 * 2).
  expect(
    computeSpearman([
      [5, 1],
      [5, 2],
      [9, 3],
    ]),
  ).toBeCloseTo(Math.sqrt(3) / 2, 12);
});

test('there is no rank correlation with fewer than two different values', () => {
  expect(computeSpearman([])).toBeNull();
  expect(computeSpearman([[1, 2]])).toBeNull();
  expect(
    computeSpearman([
      [1, 2],
      [1, 3],
    ]),
  ).toBeNull();
});
