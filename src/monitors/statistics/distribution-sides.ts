import type { Bucket, ScoreHistogram } from '../bucket.ts';
import { mirrorHistogram, onesAndZeros, SCORE_STEPS, sumHistogram } from '../bucket.ts';
import { pinBaseline, computeTolerance } from './baseline.ts';
import { meanEvidence } from './evidence.ts';
import type { GuardState, GuardTerms } from './mean-guard.ts';
import { meanGuard } from './mean-guard.ts';
import { mergeHistograms } from './merge-histograms.ts';
import { EMPTY_REFERENCE, addToReference } from '../reference.ts';
import { HOUR_MS } from '../../domain/durations.ts';
/** Most cuts inside the reference: the deciles, or fewer when the scores have fewer values. */
const MAX_CUTS = 9;

/** One side of one cut: the share of scores at or below it fell or (`turned`) rose. */
export interface Side {
  readonly cut: number;
  readonly turned: boolean;
  readonly terms: GuardTerms;
  readonly state: GuardState;
}

/** Scores of each hour with scores, oldest first. */
export type HourlyScores = readonly (readonly [startMs: number, scores: ScoreHistogram])[];

/** Returns the hours with one more bucket of scores. */
export function withBucket(hours: HourlyScores, { startMs, scores }: Bucket): HourlyScores {
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
export function listSides(
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
export function observedAt(
  { cut, turned }: Pick<Side, 'cut' | 'turned'>,
  scores: ScoreHistogram,
): ScoreHistogram {
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
export function computeStrength(side: Side): number {
  return meanEvidence(side.state.evidence);
}

export function strengthOfAll(sides: readonly Side[]): number {
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
