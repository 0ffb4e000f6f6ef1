import type { Contender } from '../../support/monitors/drift-simulation.ts';
import { CELLS, buildCells, dayWindow } from './day-window.ts';

/** Normal quantile of 1 - 0.001 / 2. */
const NORMAL_9995 = 3.290_526_731;

/** Welch's t-test (Biometrika 1947) of the last 24 hours against the reference, p < 0.001 two-sided, at each check. */
export function welch(): Contender {
  return {
    name: 'Welch 24 h p<0.001',
    start(reference) {
      const expected = buildMoments(buildCells(reference));
      const slide = dayWindow();
      return (bucket) => differs(expected, buildMoments(slide(bucket)));
    },
  };
}

interface Moments {
  readonly count: number;
  readonly mean: number;
  readonly variance: number;
}

/** Count, mean and variance of scores that are counted by hundredths. */
export function buildMoments(cells: Int32Array): Moments {
  let count = 0;
  let sum = 0;
  let squares = 0;
  for (let cell = 0; cell < CELLS; cell += 1) {
    const times = cells[cell] ?? 0;
    const value = cell / (CELLS - 1);
    count += times;
    sum += times * value;
    squares += times * value * value;
  }
  const mean = sum / count;
  return { count, mean, variance: Math.max(0, (squares - count * mean * mean) / (count - 1)) };
}

/** Returns true when two means differ at p < 0.001; false for a sample with less than two scores, or without variance. */
export function differs(first: Moments, second: Moments): boolean {
  if (first.count < 2 || second.count < 2) {
    return false;
  }
  const parts = [first, second].map(({ count, variance }) => ({ part: variance / count, count }));
  const squared = parts.reduce((sum, { part }) => sum + part, 0);
  if (squared === 0) {
    return false;
  }
  const degrees = squared ** 2 / parts.reduce((sum, { part, count }) => sum + part ** 2 / (count - 1), 0);
  return Math.abs(first.mean - second.mean) / Math.sqrt(squared) > studentQuantile(NORMAL_9995, degrees);
}

/** Student's quantile from the normal one, by Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5). */
export function studentQuantile(normal: number, degrees: number): number {
  const z = normal;
  return (
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  );
}
