import type { Contender } from '../../support/monitors/drift-simulation.ts';
import { momentary } from './momentary.ts';

const MIN_SCORES = 30;
const DELTA = 0.005;
const LAMBDA = 50;
const ALPHA = 0.9999;

/**
 * Page and Hinkley's test (Biometrika 1954) for a fall, with the customary settings of stream libraries. It fires at a
 * moment and starts anew: it has no state of alarm.
 */
export function pageHinkley(): Contender {
  return momentary('Page-Hinkley λ=50', pageHinkleyStep);
}

/** Takes a score; whether the sum of deviations fell by λ from its highest. */
export function pageHinkleyStep(): (score: number) => boolean {
  let count = 0;
  let mean = 0;
  let sum = 0;
  let highest = 0;
  return (score) => {
    count += 1;
    mean += (score - mean) / count;
    sum = ALPHA * sum + (score - mean) + DELTA;
    highest = Math.max(highest, sum);
    const fired = count >= MIN_SCORES && highest - sum > LAMBDA;
    if (fired) {
      count = 0;
      mean = 0;
      sum = 0;
      highest = 0;
    }
    return fired;
  };
}
