import { isBelow } from '../../domain/limits.ts';
import { onesAndZeros, sumHistogram } from '../bucket.ts';
import type { Detector } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import type { GuardState } from '../statistics/mean-guard.ts';
import { keptMeanDetector } from './kept-mean.ts';

/** Rate: "at most `maxRate` of the scores are below `below`", an objective such as a hallucination rate. */
export function rateDetector(terms: {
  readonly below: number;
  readonly maxRate: number;
  readonly thresholds: Thresholds;
}): Detector<GuardState> {
  return keptMeanDetector({
    bound: 1 - terms.maxRate,
    thresholds: terms.thresholds,
    observe({ scores }) {
      const { count } = sumHistogram(scores);
      let low = 0;
      for (let index = 0; index < scores.values.length; index += 1) {
        low += isBelow(scores.values[index] ?? 0, terms.below) ? (scores.counts[index] ?? 0) : 0;
      }
      return onesAndZeros(count - low, low);
    },
    tell: (mean) => 1 - mean,
  });
}
