import {
  addToReference,
  type Baseline,
  computeTolerance,
  describeLearning,
  describeMissing,
  EMPTY_REFERENCE,
  pinBaseline,
  type Reference,
  type ReferenceTerms,
} from '../statistics/baseline.ts';
import { type Condition, type Detector, type Gauges, oncePer, QUIET, tellMeans } from '../detector.ts';
import { mirrorHistogram } from '../bucket.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import {
  type GuardState,
  type MeanGuard,
  meanGuard,
  readEvidence,
  stepGuard,
} from '../statistics/mean-guard.ts';

/** Direction in which a change of the mean is reported. Down is worse, because scores are directed. */
export type Direction = 'down' | 'up' | 'both';

export interface DriftTerms {
  /** The smallest relevant change, in directed score. */
  readonly tolerance: number;
  readonly reference: ReferenceTerms;
  readonly direction: Direction;
  readonly thresholds: Thresholds;
}

export type DriftState =
  | { readonly kind: 'learning'; readonly reference: Reference }
  | {
      readonly kind: 'watching';
      readonly baseline: Baseline;
      /** States of the two guards: against a fall and against a rise of the mean. */
      readonly down: GuardState | null;
      readonly up: GuardState | null;
    };

interface Guards {
  readonly down: MeanGuard | null;
  readonly up: MeanGuard | null;
}

/**
 * Drift: the mean of the scores left its normal range. The reference is the start of the stream; it is pinned when it is
 * complete. From then on an e-detector bounds the false alarms by proof, for any distribution of the scores (`docs/evidence/alerts.md`).
 * Both directions share the allowance of false alarms.
 */
export function driftDetector(terms: DriftTerms): Detector<DriftState> {
  const fireAt = terms.thresholds.fireAt * (terms.direction === 'both' ? 2 : 1);
  const findGuards = oncePer((baseline: Baseline) => layOut(terms, baseline));
  return {
    start: () => ({ kind: 'learning', reference: EMPTY_REFERENCE }),
    step(state, bucket) {
      if (state.kind === 'learning') {
        const reference = addToReference(state.reference, bucket);
        return describeMissing(reference, terms.reference, bucket.startMs) === null
          ? startWatching(pinBaseline(reference), findGuards)
          : { kind: 'learning', reference };
      }
      const { baseline } = state;
      const { down, up } = findGuards(baseline);
      const { startMs, scores } = bucket;
      return {
        kind: 'watching',
        baseline,
        down: down && state.down && stepGuard(down, state.down, { startMs, scores }, fireAt),
        up: up && state.up && stepGuard(up, state.up, { startMs, scores: mirrorHistogram(scores) }, fireAt),
      };
    },
    condition: (state) => readCondition(state, terms.reference),
    gauges: buildGauges,
  };
}

function startWatching(baseline: Baseline, createGuards: (baseline: Baseline) => Guards): DriftState {
  const { down, up } = createGuards(baseline);
  return { kind: 'watching', baseline, down: down?.start() ?? null, up: up?.start() ?? null };
}

function layOut({ tolerance, direction, thresholds }: DriftTerms, baseline: Baseline): Guards {
  const borne = computeTolerance(baseline, tolerance);
  const guard = (means: readonly number[]): MeanGuard =>
    meanGuard({
      bounds: means.map((mean) => mean - borne),
      tolerance: borne,
      variances: [baseline.variance],
      clumping: baseline.clumping,
      slowVariance: baseline.slowVariance,
      resolveAt: thresholds.resolveAt,
    });
  return {
    down: direction === 'up' ? null : guard(baseline.slotMeans),
    up: direction === 'down' ? null : guard(baseline.slotMeans.map((mean) => 1 - mean)),
  };
}

function readCondition(state: DriftState, terms: ReferenceTerms): Condition {
  if (state.kind === 'learning') {
    return { kind: 'learning', why: describeLearning(state.reference, terms) };
  }
  if (state.down?.alarm) {
    return { kind: 'breached', finding: state.down.alarm.finding };
  }
  if (state.up?.alarm) {
    return { kind: 'breached', finding: tellMeans(state.up.alarm.finding, (mean) => 1 - mean) };
  }
  return QUIET;
}

function buildGauges(state: DriftState): Gauges {
  if (state.kind === 'learning') {
    return { baseline: null, limit: null, evidenceLog10: null };
  }
  const evidence = [state.down, state.up].map((guard) => (guard && readEvidence(guard)) ?? 0);
  return { baseline: state.baseline.mean, limit: null, evidenceLog10: Math.max(...evidence) };
}
