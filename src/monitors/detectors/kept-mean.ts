import { type Bucket, type ScoreHistogram, onesAndZeros, sumHistogram } from '../bucket.ts';
import { type Detector, type Finding, QUIET } from '../detector.ts';
import { meanEvidence } from '../statistics/evidence.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import { type GuardState, meanGuard } from '../statistics/mean-guard.ts';
import { isBelow } from '../../domain/limits.ts';

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
function keptMeanDetector(terms: KeptMeanTerms): Detector<GuardState> {
  const { bound, thresholds, observe, tell } = terms;
  const guard = meanGuard({
    bounds: [bound],
    tolerance: 0,
    variances: [bound * (1 - bound), CALM_VARIANCE],
    resolveAt: thresholds.resolveAt,
  });
  return {
    start: () => guard.start(),
    step(state, bucket) {
      const next = guard.step(state, { startMs: bucket.startMs, scores: observe(bucket) });
      const reached = next.alarm === null && meanEvidence(next.evidence) >= thresholds.fireAt;
      return reached ? guard.raise(next) : next;
    },
    condition: ({ alarm }) => (alarm ? { kind: 'breached', finding: describeFinding(alarm.finding) } : QUIET),
    gauges: ({ alarm, evidence }) => ({
      baseline: null,
      limit: tell(bound),
      evidenceLog10: alarm?.finding.evidenceLog10 ?? Math.log10(meanEvidence(evidence) || 1),
    }),
  };

  function describeFinding(finding: Finding): Finding {
    return { ...finding, before: tell(bound), after: finding.after === null ? null : tell(finding.after) };
  }
}

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
