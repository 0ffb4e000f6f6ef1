import { describe, expect, test } from 'vitest';
import { computeAgreement } from '../../../../src/domain/agreement/agreement.ts';

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
