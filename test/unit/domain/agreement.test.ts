import { describe, expect, test } from 'vitest';
import {
  computeAgreement,
  computeSpearman,
  computeWilsonInterval,
} from '../../../src/domain/agreement/agreement.ts';

describe('agreement of two raters', () => {
  test('is that of a published example: 50 grants, two readers', () => {
    // https://en.wikipedia.org/wiki/Cohen%27s_kappa, "Simple example"
    const { n, agreement, kappa } = computeAgreement({
      bothPass: 20,
      leftPasses: 5,
      rightPasses: 10,
      bothFail: 15,
    });
    expect({ n, agreement }).toEqual({ n: 50, agreement: 0.7 });
    expect(kappa).toBeCloseTo(0.4, 12);
  });

  test('has the interval of large samples, computed by another form of its variance', () => {
    // The delta method by numbers: the gradient of kappa over the four shares of a multinomial sample.
    const counts = [88, 10, 14, 63] as const;
    const total = counts.reduce((sum, count) => sum + count, 0);
    const kappaOf = ([a, b, c, d]: readonly number[]): number => {
      const [p = 0, q = 0, r = 0, s = 0] = [a, b, c, d];
      const expected = (p + q) * (p + r) + (r + s) * (q + s);
      return (p + s - expected) / (1 - expected);
    };
    const shares = counts.map((count) => count / total);
    const gradient = shares.map((share, index) => {
      const step = 1e-6;
      return (
        (kappaOf(shares.with(index, share + step)) - kappaOf(shares.with(index, share - step))) / (2 * step)
      );
    });
    const mean = gradient.reduce((sum, slope, index) => sum + slope * (shares[index] ?? 0), 0);
    const variance =
      gradient.reduce((sum, slope, index) => sum + slope * slope * (shares[index] ?? 0), 0) - mean * mean;
    const [bothPass, leftPasses, rightPasses, bothFail] = counts;
    const found = computeAgreement({ bothPass, leftPasses, rightPasses, bothFail });
    const margin = 1.959964 * Math.sqrt(variance / total);
    expect(found.kappa).toBeCloseTo(kappaOf(shares), 9);
    expect(found.kappaLow).toBeCloseTo(kappaOf(shares) - margin, 5);
    expect(found.kappaHigh).toBeCloseTo(kappaOf(shares) + margin, 5);
  });

  test('is not defined without targets, and kappa not where both sides give one answer to all', () => {
    const none = { bothPass: 0, leftPasses: 0, rightPasses: 0, bothFail: 0 };
    expect(computeAgreement(none)).toEqual({
      n: 0,
      agreement: null,
      kappa: null,
      kappaLow: null,
      kappaHigh: null,
    });
    expect(computeAgreement({ ...none, bothPass: 9 })).toMatchObject({ agreement: 1, kappa: null });
  });

  test('is complete or opposite at its bounds', () => {
    const none = { bothPass: 0, leftPasses: 0, rightPasses: 0, bothFail: 0 };
    expect(computeAgreement({ ...none, bothPass: 5, bothFail: 5 })).toMatchObject({
      kappa: 1,
      kappaLow: 1,
      kappaHigh: 1,
    });
    expect(computeAgreement({ ...none, leftPasses: 5, rightPasses: 5 })).toMatchObject({
      kappa: -1,
      kappaLow: -1,
    });
  });

  test.each([
    ['the scorer lets all pass', { bothPass: 1, leftPasses: 7, rightPasses: 0, bothFail: 0 }],
    ['people let none pass', { bothPass: 0, leftPasses: 5, rightPasses: 0, bothFail: 3 }],
  ])('is not known where %s', (_case, confusion) => {
    expect(computeAgreement(confusion)).toMatchObject({ n: 8, kappa: null, kappaLow: null, kappaHigh: null });
  });
});

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

describe('the interval of a share', () => {
  // R. G. Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('is the published one for %i of %i', (count, n, low, high) => {
    const found = computeWilsonInterval({ share: count / n, n });
    expect(found?.low).toBeCloseTo(low, 4);
    expect(found?.high).toBeCloseTo(high, 4);
  });

  test('stays within 0 and 1, and is the same for yes and no', () => {
    const all = computeWilsonInterval({ share: 1, n: 7.5 });
    const none = computeWilsonInterval({ share: 0, n: 7.5 });
    expect(all?.high).toBe(1);
    expect(none?.low).toBe(0);
    expect(all?.low).toBeCloseTo(1 - (none?.high ?? 0), 12);
  });

  test('is not known without observations', () => {
    expect(computeWilsonInterval({ share: 0, n: 0 })).toBeNull();
  });
});
