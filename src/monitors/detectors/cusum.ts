import type { Bucket, ScoreHistogram } from '../bucket.ts';
import { NO_SCORES } from '../bucket.ts';
import { type Baseline, pinBaseline } from '../statistics/baseline.ts';
import type { Detector } from '../detector.ts';
import { QUIET } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import { type GuardState, meanGuard } from '../statistics/mean-guard.ts';
import { mergeHistograms } from '../statistics/merge-histograms.ts';
import {
  EMPTY_REFERENCE,
  addToReference,
  describeMissing,
  type Reference,
  type ReferenceTerms,
} from '../reference.ts';
import { DAY_MS } from '../../domain/durations.ts';
const MONTH_DAYS = 30;
/** Upper bound of the search for the exponent; beyond it a single score fires anyway. */
const MAX_EXPONENT = 1000;
const BISECTIONS = 60;

export interface CusumTerms {
  /** Half of the drop that is to be found fastest; each score may be this much below the mean without counting. */
  readonly allowance: number;
  readonly reference: ReferenceTerms;
  readonly thresholds: Thresholds;
}

export type CusumState =
  | { readonly kind: 'learning'; readonly reference: Reference; readonly seen: ScoreHistogram }
  | {
      readonly kind: 'watching';
      readonly baseline: Baseline;
      /** Sum of shortfalls at which the detector fires. */
      readonly limit: number;
      readonly guard: GuardState;
    };

/**
 * Calibrated CUSUM: the sum of shortfalls below (mean - allowance), restarted at zero. The limit comes from the reference: h =
 * ln(scores a month / alpha) / t, where t solves E[exp(t (mean - allowance - X))] = 1 over the reference (Lorden's bound by the
 * exponential martingale). Fastest for one size of drop; the bound of false alarms needs independent scores like those of the
 * reference.
 */
export function cusumDetector(terms: CusumTerms): Detector<CusumState> {
  const createGuard = (baseline: Baseline) =>
    meanGuard({
      bounds: [baseline.mean - terms.allowance],
      tolerance: terms.allowance,
      variances: [baseline.variance],
      resolveAt: terms.thresholds.resolveAt,
    });
  return {
    start: () => ({ kind: 'learning', reference: EMPTY_REFERENCE, seen: NO_SCORES }),
    step(state, bucket) {
      if (state.kind === 'learning') {
        return learn(state, bucket);
      }
      const guard = createGuard(state.baseline);
      const next = guard.step(state.guard, bucket);
      const reached = next.alarm === null && (next.excursion?.shortfall ?? 0) >= state.limit;
      return { ...state, guard: reached ? guard.raise(next) : next };
    },
    condition(state) {
      if (state.kind === 'learning') {
        const why = describeMissing(state.reference, terms.reference, state.reference.untilMs);
        return { kind: 'learning', why: why ?? 'the reference is about to be pinned' };
      }
      const { alarm } = state.guard;
      return alarm ? { kind: 'breached', finding: { ...alarm.finding, evidenceLog10: null } } : QUIET;
    },
    gauges: (state) => ({
      baseline: state.kind === 'watching' ? state.baseline.mean : null,
      limit: null,
      evidenceLog10: null,
    }),
  };

  function learn(state: Extract<CusumState, { kind: 'learning' }>, bucket: Bucket): CusumState {
    const reference = addToReference(state.reference, bucket);
    const seen = mergeHistograms([state.seen, bucket.scores]);
    if (reference.sinceMs === null || describeMissing(reference, terms.reference, bucket.startMs) !== null) {
      return { kind: 'learning', reference, seen };
    }
    const baseline = pinBaseline(reference);
    const days = (bucket.startMs - reference.sinceMs) / DAY_MS;
    const monthly = (reference.count * MONTH_DAYS) / days;
    const exponent = solveExponent(seen, baseline.mean - terms.allowance);
    const limit = Math.log(monthly / terms.thresholds.alpha) / exponent;
    return { kind: 'watching', baseline, limit, guard: createGuard(baseline).start() };
  }
}

/**
 * Solves E[exp(t (line - X))] = 1 for t > 0. One score of 0 is added to the observed scores, so that a reference without any
 * low score does not turn the first low score into an alarm.
 */
function solveExponent({ values, counts }: ScoreHistogram, line: number): number {
  const total = counts.reduce((sum, count) => sum + count, 1);
  const excess = (exponent: number): number =>
    values.reduce(
      (sum, value, index) => sum + ((counts[index] ?? 0) / total) * Math.exp(exponent * (line - value)),
      Math.exp(exponent * line) / total,
    ) - 1;
  let low = 0;
  let high = MAX_EXPONENT;
  for (let round = 0; round < BISECTIONS; round += 1) {
    const middle = (low + high) / 2;
    if (excess(middle) > 0) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return high;
}
