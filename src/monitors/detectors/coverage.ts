import { onesAndZeros } from '../bucket.ts';
import type { Detector } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import type { GuardState } from '../statistics/mean-guard.ts';
import { keptMeanDetector } from './kept-mean.ts';

/**
 * Creates the detector "at least `minimum` of the scores that were due exist": a due score that failed, or that waits for judge
 * or budget, counts as missing.
 */
export function coverageDetector(terms: {
  readonly minimum: number;
  readonly thresholds: Thresholds;
}): Detector<GuardState> {
  return keptMeanDetector({
    bound: terms.minimum,
    thresholds: terms.thresholds,
    observe: ({ outcomes }) => onesAndZeros(outcomes.scored, outcomes.failed + outcomes.deferred),
    tell: (mean) => mean,
  });
}
