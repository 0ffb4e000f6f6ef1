import type { Contender } from '../../support/monitors/drift-simulation.ts';
import { CELLS, buildCells, dayWindow } from './day-window.ts';

const TERMS = 100;

/** Kolmogorov and Smirnov's two-sample test of the last 24 hours against the reference, at each check. */
export function kolmogorovSmirnov(below: number): Contender {
  return {
    name: `KS 24 h p<${below}`,
    start(reference) {
      const expected = buildCells(reference);
      const slide = dayWindow();
      return (bucket) => ksPValue(expected, slide(bucket)) < below;
    },
  };
}

/**
 * The p-value of two samples given by their counts in cells of rising values; 1 where one is empty.
 * Asymptotic, with Stephens' correction for small samples (JRSS-B 1970).
 */
export function ksPValue(first: Int32Array, second: Int32Array): number {
  const many = computeSize(first);
  const few = computeSize(second);
  if (many === 0 || few === 0) {
    return 1;
  }
  let left = 0;
  let right = 0;
  let distance = 0;
  for (let cell = 0; cell < CELLS; cell += 1) {
    left += (first[cell] ?? 0) / many;
    right += (second[cell] ?? 0) / few;
    distance = Math.max(distance, Math.abs(left - right));
  }
  const root = Math.sqrt((many * few) / (many + few));
  return tail((root + 0.12 + 0.11 / root) * distance);
}

function computeSize(cells: Int32Array): number {
  let size = 0;
  for (const count of cells) {
    size += count;
  }
  return size;
}

/** Kolmogorov's distribution: the probability of a value above x. */
function tail(x: number): number {
  if (x < 0.2) {
    return 1;
  }
  let sum = 0;
  for (let term = 1; term <= TERMS; term += 1) {
    const part = Math.exp(-2 * term * term * x * x);
    sum += term % 2 === 1 ? part : -part;
    if (part < 1e-12) {
      break;
    }
  }
  return Math.min(1, Math.max(0, 2 * sum));
}
