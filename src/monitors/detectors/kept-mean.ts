import type { Bucket, ScoreHistogram } from '../bucket.ts';
import { type Detector, QUIET, tellMeans } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import { type GuardState, meanGuard, readEvidence, stepGuard } from '../statistics/mean-guard.ts';

/** Variance of a stream of similar scores; the other guess is the largest variance that a mean allows. */
const CALM_VARIANCE = 0.02;

interface KeptMeanTerms {
  /** The mean that must be kept; above 0 and below 1. */
  readonly bound: number;
  readonly thresholds: Thresholds;
  /** Returns the observations of a bucket, each between 0 and 1. */
  readonly observe: (bucket: Bucket) => ScoreHistogram;
  /** Turns a mean of observations into the reported number: the mean itself, or the rate of failures. */
  readonly tell: (mean: number) => number;
}

/**
 * Creates the detector "the mean of these observations stays at or above a bound". It bounds false alarms like drift, without a
 * reference; `floor`, `rate`, `scorer_errors` and `coverage` use it. The variance is unknown, so it bets on two guesses of it.
 */
export function keptMeanDetector(terms: KeptMeanTerms): Detector<GuardState> {
  const { bound, thresholds, observe, tell } = terms;
  const guard = meanGuard({
    bounds: [bound],
    tolerance: 0,
    variances: [bound * (1 - bound), CALM_VARIANCE],
    resolveAt: thresholds.resolveAt,
  });
  return {
    start: () => guard.start(),
    step: (state, bucket) =>
      stepGuard(guard, state, { startMs: bucket.startMs, scores: observe(bucket) }, thresholds.fireAt),
    condition: ({ alarm }) =>
      alarm === null
        ? QUIET
        : { kind: 'breached', finding: { ...tellMeans(alarm.finding, tell), before: tell(bound) } },
    gauges: (state) => ({ baseline: null, limit: tell(bound), evidenceLog10: readEvidence(state) }),
  };
}
