import { describe, expect, it } from 'vitest';
import { fitLine, mean, sampleVariance } from '../../../src/estimate/linear-fit.ts';

const onLine = (count: number) => Array.from({ length: count }, (_, x) => ({ x, y: 10 + 3 * x }));

describe('a fitted line', () => {
  it('predicts what lies on it', () => {
    const predict = fitLine(onLine(10));
    expect(predict(4)).toBeCloseTo(22);
    expect(predict(12)).toBeCloseTo(46);
  });

  it('is the mean of a few observations, and of equal sizes', () => {
    expect(fitLine(onLine(3))(100)).toBe(13);
    const equal = Array.from({ length: 20 }, (_, index) => ({ x: 5, y: index % 2 }));
    expect(fitLine(equal)(1_000)).toBe(0.5);
  });

  it('is never below 0, far above what was observed, or unknown', () => {
    expect(fitLine(onLine(10))(-100)).toBe(0);
    expect(fitLine(onLine(10))(1e9)).toBe(4 * 37);
    expect(fitLine([])(7)).toBe(0);
  });
});

it('mean and variance of few values are defined', () => {
  expect([mean([]), mean([1, 3])]).toEqual([0, 2]);
  expect([sampleVariance([4]), sampleVariance([1, 3])]).toEqual([0, 2]);
});
