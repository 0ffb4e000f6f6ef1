import {
  type Bucket,
  type ScoreHistogram,
  mergeHistograms,
  mirrorHistogram,
  onesAndZeros,
  SCORE_STEPS,
  sumHistogram,
} from '../bucket.ts';
import { type Detector, type Finding, oncePer, QUIET, tellMeans } from '../detector.ts';
import type { Thresholds } from '../statistics/false-alarms.ts';
import { type GuardTerms, type MeanGuard, meanGuard, type GuardState } from '../statistics/mean-guard.ts';
import {
  addToReference,
  computeTolerance,
  describeLearning,
  describeMissing,
  EMPTY_REFERENCE,
  pinBaseline,
  type Reference,
  type ReferenceTerms,
} from '../statistics/baseline.ts';
import { meanEvidence } from '../statistics/evidence.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Most cuts inside the reference: the deciles, or fewer when the scores have fewer values. */
const MAX_CUTS = 9;

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
  const findGuard = oncePer(meanGuard);
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
        return { kind: 'learning', why: describeLearning(state.reference, terms.reference) };
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
  return { ...tellMeans(finding, (part) => (side.turned ? 1 - part : part)), cut: side.cut };
}

/** One side of one cut: the share of scores at or below it fell or (`turned`) rose. */
interface Side {
  readonly cut: number;
  readonly turned: boolean;
  readonly terms: GuardTerms;
  readonly state: GuardState;
}

/** Scores of each hour with scores, oldest first. */
type HourlyScores = readonly (readonly [startMs: number, scores: ScoreHistogram])[];

function withBucket(hours: HourlyScores, { startMs, scores }: Bucket): HourlyScores {
  if (sumHistogram(scores).count === 0) {
    return hours;
  }
  const hourMs = Math.floor(startMs / HOUR_MS) * HOUR_MS;
  const last = hours.at(-1);
  return last?.[0] === hourMs
    ? [...hours.slice(0, -1), [hourMs, mergeHistograms([last[1], scores])]]
    : [...hours, [hourMs, scores]];
}

/** Lists the sides to watch, with the baseline of each pinned from the hours. */
function listSides(
  hours: HourlyScores,
  { tolerance, resolveAt }: { readonly tolerance: number; readonly resolveAt: number },
): Side[] {
  const cuts = listCuts(mergeHistograms(hours.map(([, scores]) => scores)));
  return cuts.flatMap((cut) => [false, true].map((turned) => buildSide({ cut, turned })));

  function buildSide(place: Pick<Side, 'cut' | 'turned'>): Side {
    const reference = hours.reduce(
      (gathered, [startMs, scores]) =>
        addToReference(gathered, { startMs, scores: observedAt(place, scores) }),
      EMPTY_REFERENCE,
    );
    const baseline = pinBaseline(reference);
    const borne = computeTolerance(baseline, tolerance);
    const terms: GuardTerms = {
      bounds: baseline.slotMeans.map((mean) => mean - borne),
      tolerance: borne,
      variances: [baseline.variance],
      resolveAt,
    };
    return { ...place, terms, state: meanGuard(terms).start() };
  }
}

/** Returns 1 for each score at or below the cut, else 0; for the turned side 0 and 1 are swapped. */
function observedAt({ cut, turned }: Pick<Side, 'cut' | 'turned'>, scores: ScoreHistogram): ScoreHistogram {
  const { count } = sumHistogram(scores);
  let below = 0;
  for (let index = 0; index < scores.values.length; index += 1) {
    below += (scores.values[index] ?? 0) <= cut ? (scores.counts[index] ?? 0) : 0;
  }
  const ones = onesAndZeros(below, count - below);
  return turned ? mirrorHistogram(ones) : ones;
}

/**
 * Computes the evidence of one side. The mean of several e-detectors is an e-detector, so the evidence of all sides is the
 * mean.
 */
function computeStrength(side: Side): number {
  return meanEvidence(side.state.evidence);
}

function strengthOfAll(sides: readonly Side[]): number {
  return sides.reduce((sum, side) => sum + computeStrength(side) / sides.length, 0);
}

/**
 * Lists the cuts: below the smallest value, every value (or the deciles, when there are many values), and the largest value. So
 * scores outside the range of the reference are noticed too.
 */
function listCuts({ values, counts }: ScoreHistogram): number[] {
  const below = (values[0] ?? 0) - 1 / SCORE_STEPS;
  const largest = values.at(-1) ?? 1;
  const inner = values.length <= MAX_CUTS + 1 ? values.slice(0, -1) : listDeciles({ values, counts });
  return [...(below >= 0 ? [below] : []), ...inner, ...(largest < 1 ? [largest] : [])];
}

function listDeciles({ values, counts }: ScoreHistogram): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const computeDecile = (below: number): number => Math.floor((below * (MAX_CUTS + 1)) / total);
  const cuts: number[] = [];
  let below = 0;
  for (const [index, value] of values.slice(0, -1).entries()) {
    const before = computeDecile(below);
    below += counts[index] ?? 0;
    if (computeDecile(below) > before) {
      cuts.push(value);
    }
  }
  return cuts;
}
