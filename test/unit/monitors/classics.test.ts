import { describe, expect, it } from 'vitest';
import { buildHistogram, NO_OUTCOMES } from '../../../src/monitors/bucket.ts';
import { adwinStep } from '../../bench/drift/adwin.ts';
import { buildCells, dayWindow } from '../../bench/drift/day-window.ts';
import { eachScore } from '../../bench/drift/each-score.ts';
import { ksPValue } from '../../bench/drift/kolmogorov-smirnov.ts';
import { pageHinkleyStep } from '../../bench/drift/page-hinkley.ts';
import { differs, buildMoments, studentQuantile } from '../../bench/drift/welch.ts';
import { bucketAt } from '../../support/monitors/fold-scores.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

/** Counts by hundredths of so many scores of each value. */
function cells(...entries: readonly (readonly [value: number, count: number])[]): Int32Array {
  const scores = entries.flatMap(([value, count]) => Array.from({ length: count }, () => value));
  return buildCells([{ startMs: 0, scores: buildHistogram(scores), outcomes: NO_OUTCOMES }]);
}

describe('the classics that drift is compared with', () => {
  it('Kolmogorov and Smirnov: gives the tabulated p-values of large samples', () => {
    // Of 20,000 and 20,000 scores, D = 0.0136 lies at the 5 % point of the distribution (1.36), D = 0.0163 at the 1 % point.
    const whole = cells([0.2, 10_000], [0.8, 10_000]);
    expect(ksPValue(whole, cells([0.2, 10_272], [0.8, 9728]))).toBeCloseTo(0.049, 2);
    expect(ksPValue(whole, cells([0.2, 10_326], [0.8, 9674]))).toBeCloseTo(0.01, 3);
    expect(ksPValue(whole, whole)).toBe(1);
    expect(ksPValue(whole, cells())).toBe(1);
  });

  it.each([
    [10, 4.587],
    [30, 3.646],
    [100, 3.39],
  ])('Welch: has the tabulated quantile of Student for %i degrees of freedom', (degrees, tabulated) => {
    expect(studentQuantile(3.2905, degrees)).toBeCloseTo(tabulated, 1);
  });

  it('Welch: finds means apart by more than the quantile of standard errors, and no others', () => {
    const reference = buildMoments(cells([0.4, 5000], [0.6, 5000]));
    expect(reference.variance).toBeCloseTo(0.01, 4);
    // Standard error with 100 scores: 0.01; the quantile is 3.39.
    expect(differs(reference, buildMoments(cells([0.4, 33], [0.6, 67])))).toBe(true);
    expect(differs(reference, buildMoments(cells([0.4, 36], [0.6, 64])))).toBe(false);
    expect(differs(reference, buildMoments(cells([0.4, 1])))).toBe(false);
  });

  it('Page and Hinkley: fires once the shortfall adds up to 50', () => {
    const step = pageHinkleyStep();
    const quiet = Array.from({ length: 1000 }, () => step(0.9));
    expect(quiet).not.toContain(true);
    const scores = Array.from({ length: 200 }, () => step(0.4));
    // Each score adds half a point at first, less as the mean follows.
    expect(scores.indexOf(true)).toBeGreaterThan(95);
    expect(scores.indexOf(true)).toBeLessThan(130);
  });

  it('ADWIN: is quiet on what stays, and cuts its window within some dozens of scores when the mean jumps', () => {
    const random = seededRandom(4);
    const step = adwinStep();
    const draw = (mean: number): boolean => step(random() < mean ? 1 : 0);
    expect(Array.from({ length: 20_000 }, () => draw(0.8))).not.toContain(true);
    const found = Array.from({ length: 200 }, () => draw(0.2)).indexOf(true);
    expect(found).toBeGreaterThanOrEqual(0);
    expect(found).toBeLessThan(96);
  });

  it('the window of a day forgets what is older', () => {
    const slide = dayWindow();
    expect(slide(bucketAt(0, [0.5, 1]))[50]).toBe(1);
    for (let index = 1; index < 288; index += 1) {
      slide(bucketAt(index, []));
    }
    expect(slide(bucketAt(288, [1]))[50]).toBe(0);
  });

  it('scores come one by one as many as the bucket holds, in the same order each time', () => {
    const bucket = bucketAt(3, [0.1, 0.1, 0.5, 0.9, 0.9, 0.9]);
    const scores = [...eachScore(bucket)];
    expect(scores.toSorted((a, b) => a - b)).toEqual([0.1, 0.1, 0.5, 0.9, 0.9, 0.9]);
    expect([...eachScore(bucket)]).toEqual(scores);
  });
});
