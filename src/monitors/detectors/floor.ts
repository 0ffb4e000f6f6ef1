import type { Detector } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import type { GuardState } from '../statistics/mean-guard.ts';
import { keptMeanDetector } from './kept-mean.ts';

/**
 * Floor: "the mean score stays at or above `minimum`". A fixed limit with bounded false alarms; it needs neither a window nor a
 * reference.
 */
export function floorDetector(terms: {
  readonly minimum: number;
  readonly thresholds: Thresholds;
}): Detector<GuardState> {
  return keptMeanDetector({
    bound: terms.minimum,
    thresholds: terms.thresholds,
    observe: ({ scores }) => scores,
    tell: (mean) => mean,
  });
}
