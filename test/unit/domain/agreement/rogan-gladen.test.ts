import { describe, expect, test } from 'vitest';
import { correctShare } from '../../../../src/domain/agreement/agreement.ts';

const of = (share: number, n: number) => ({ share, n });

describe('a share of positive answers, corrected for the mistakes of the rater', () => {
  test('is that of the formula: 5 % observed with sensitivity 0.9 and specificity 0.99', () => {
    const found = correctShare(of(0.05, 80), { sensitivity: of(0.9, 1e9), specificity: of(0.99, 1e9) });
    expect(found?.share).toBeCloseTo(0.04 / 0.89, 12);
  });

  test('has an interval by the delta method over all three shares', () => {
    const [p, se, sp] = [of(0.3, 400), of(0.85, 60), of(0.92, 90)];
    const value = (share: number, sensitivity: number, specificity: number) =>
      (share + specificity - 1) / (sensitivity + specificity - 1);
    const step = 1e-6;
    const slopes = [
      (value(p.share + step, se.share, sp.share) - value(p.share - step, se.share, sp.share)) / (2 * step),
      (value(p.share, se.share + step, sp.share) - value(p.share, se.share - step, sp.share)) / (2 * step),
      (value(p.share, se.share, sp.share + step) - value(p.share, se.share, sp.share - step)) / (2 * step),
    ];
    const variance = [p, se, sp].reduce(
      (sum, { share, n }, index) => sum + ((slopes[index] ?? 0) ** 2 * share * (1 - share)) / n,
      0,
    );
    const share = value(p.share, se.share, sp.share);
    const found = correctShare(p, { sensitivity: se, specificity: sp });
    expect(found?.share).toBeCloseTo(share, 12);
    expect(found?.low).toBeCloseTo(share - 1.959964 * Math.sqrt(variance), 6);
    expect(found?.high).toBeCloseTo(share + 1.959964 * Math.sqrt(variance), 6);
  });

  test('stays within 0 and 1', () => {
    expect(correctShare(of(0.01, 50), { sensitivity: of(0.9, 50), specificity: of(0.9, 50) })).toMatchObject({
      share: 0,
      low: 0,
    });
    expect(correctShare(of(0.99, 50), { sensitivity: of(0.9, 50), specificity: of(0.9, 50) })).toMatchObject({
      share: 1,
      high: 1,
    });
  });

  test('is not known for a rater that is no better than chance, or without observations', () => {
    expect(correctShare(of(0.5, 9), { sensitivity: of(0.5, 9), specificity: of(0.5, 9) })).toBeNull();
    expect(correctShare(of(0.5, 0), { sensitivity: of(0.9, 9), specificity: of(0.9, 9) })).toBeNull();
  });
});
