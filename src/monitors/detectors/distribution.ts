import type { Bucket } from '../bucket.ts';
import type { Detector, Finding } from '../detector.ts';
import { QUIET } from '../detector.ts';
import {
  type HourlyScores,
  observedAt,
  type Side,
  listSides,
  computeStrength,
  strengthOfAll,
  withBucket,
} from '../statistics/distribution-sides.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import { type GuardTerms, type MeanGuard, meanGuard } from '../statistics/mean-guard.ts';
import {
  EMPTY_REFERENCE,
  addToReference,
  describeMissing,
  type Reference,
  type ReferenceTerms,
} from '../reference.ts';

export interface DistributionTerms {
  /** The smallest relevant change of the share of scores below any cut. */
  readonly tolerance: number;
  readonly reference: ReferenceTerms;
  readonly thresholds: Thresholds;
}

export type DistributionState =
  | { readonly kind: 'learning'; readonly reference: Reference; readonly hours: HourlyScores }
  | { readonly kind: 'watching'; readonly sides: readonly Side[] };

/**
 * Distribution: the scores changed their shape, even at an equal mean. Watches the share of scores at or below each of some
 * cuts (values or deciles of the reference), in both directions. The mean of all evidence is itself an e-detector, with the
 * same bound of false alarms. While the reference is gathered, the state grows with the distinct scores of each hour.
 */
export function distributionDetector(terms: DistributionTerms): Detector<DistributionState> {
  const findGuard = guardsByTerms();
  return {
    start: () => ({ kind: 'learning', reference: EMPTY_REFERENCE, hours: [] }),
    step(state, bucket) {
      if (state.kind === 'watching') {
        return { kind: 'watching', sides: watch(state.sides, bucket, terms.thresholds, findGuard) };
      }
      const reference = addToReference(state.reference, bucket);
      const hours = withBucket(state.hours, bucket);
      return describeMissing(reference, terms.reference, bucket.startMs) === null
        ? {
            kind: 'watching',
            sides: listSides(hours, { tolerance: terms.tolerance, resolveAt: terms.thresholds.resolveAt }),
          }
        : { kind: 'learning', reference, hours };
    },
    condition(state) {
      if (state.kind === 'learning') {
        const why = describeMissing(state.reference, terms.reference, state.reference.untilMs);
        return { kind: 'learning', why: why ?? 'the reference is about to be pinned' };
      }
      const finding = buildFinding(state.sides);
      return finding ? { kind: 'breached', finding } : QUIET;
    },
    gauges(state) {
      const sides = state.kind === 'watching' ? state.sides : [];
      return {
        baseline: null,
        limit: null,
        evidenceLog10:
          buildFinding(sides)?.evidenceLog10 ??
          (sides.length > 0 ? Math.log10(strengthOfAll(sides) || 1) : null),
      };
    },
  };
}

function watch(
  sides: readonly Side[],
  bucket: Bucket,
  { fireAt }: Thresholds,
  createGuard: (terms: GuardTerms) => MeanGuard,
): readonly Side[] {
  const { startMs } = bucket;
  const step = (side: Side): Side => {
    const scores = observedAt(side, bucket.scores);
    return { ...side, state: createGuard(side.terms).step(side.state, { startMs, scores }) };
  };
  if (sides.some((side) => side.state.alarm !== null)) {
    const next = sides.map((side) => (side.state.alarm === null ? side : step(side)));
    const over = next.every((side) => side.state.alarm === null);
    return over ? next.map((side) => ({ ...side, state: createGuard(side.terms).start() })) : next;
  }
  const next = sides.map(step);
  if (next.length === 0 || strengthOfAll(next) < fireAt) {
    return next;
  }
  const strongest = next.reduce((best, side) =>
    computeStrength(side) > computeStrength(best) ? side : best,
  );
  return next.map((side) =>
    side === strongest ? { ...side, state: createGuard(side.terms).raise(side.state) } : side,
  );
}

/** Describes the share of scores at or below the cut of the alarmed side, in whichever direction it is watched. */
function buildFinding(sides: readonly Side[]): Finding | null {
  const side = sides.find(({ state }) => state.alarm !== null);
  const finding = side?.state.alarm?.finding;
  if (!side || !finding) {
    return null;
  }
  const direct = (part: number | null): number | null => (part === null || !side.turned ? part : 1 - part);
  return { ...finding, before: direct(finding.before), after: direct(finding.after), cut: side.cut };
}

/** Creates a cache of guards: a guard depends on its terms only, so it is built once and not at every bucket. */
function guardsByTerms(): (terms: GuardTerms) => MeanGuard {
  const known = new WeakMap<GuardTerms, MeanGuard>();
  return (terms) => {
    const guard = known.get(terms) ?? meanGuard(terms);
    known.set(terms, guard);
    return guard;
  };
}
