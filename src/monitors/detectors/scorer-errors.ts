import { onesAndZeros } from '../bucket.ts';
import type { Detector } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import type { GuardState } from '../statistics/mean-guard.ts';
import { keptMeanDetector } from './kept-mean.ts';

/**
 * Scorer errors: "at most `maxRate` of a scorer's finished runs failed". A failing judge is an alert of its own, never a low
 * score.
 */
export function scorerErrorsDetector(terms: {
  readonly maxRate: number;
  readonly thresholds: Thresholds;
}): Detector<GuardState> {
  return keptMeanDetector({
    bound: 1 - terms.maxRate,
    thresholds: terms.thresholds,
    observe: ({ outcomes }) => onesAndZeros(outcomes.scored, outcomes.failed),
    tell: (mean) => 1 - mean,
  });
}
