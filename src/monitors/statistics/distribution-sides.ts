import type { Bucket, ScoreHistogram } from '../bucket.ts';
import { onesAndZeros, SCORE_STEPS, sumHistogram } from '../bucket.ts';
import { pinBaseline, computeTolerance } from './baseline.ts';
import { meanEvidence } from './evidence.ts';
import type { GuardState, GuardTerms } from './mean-guard.ts';
import { meanGuard, mirrorHistogram } from './mean-guard.ts';
import { mergeHistograms } from './merge-histograms.ts';
import { EMPTY_REFERENCE, addToReference } from '../reference.ts';

const HOUR_MS = 3_600_000;
/** Cuts within the reference at most: the deciles, or fewer where the scores take fewer values. */
const MAX_CUTS = 9;

/** One side of one cut: the part of scores at or below it fell, or (`turned`) rose. */
export interface Side {
  readonly cut: number;
  readonly turned: boolean;
  readonly terms: GuardTerms;
  readonly state: GuardState;
}

/** The scores of each hour that had any, oldest first. */
export type HourlyScores = readonly (readonly [startMs: number, scores: ScoreHistogram])[];

/** The hours with one more bucket of scores. */
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

/** The sides to watch, with the baseline of each pinned from the hours. */
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

/** 1 for each score at or below the cut, else 0; turned over for the other side. */
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

/** The evidence of one side, and of all: a mean of e-detectors is one. */
export function computeStrength(side: Side): number {
  return meanEvidence(side.state.evidence);
}

export function strengthOfAll(sides: readonly Side[]): number {
  return sides.reduce((sum, side) => sum + computeStrength(side) / sides.length, 0);
}

/**
 * Below the smallest value, every value or, where they are many, the deciles, and the largest: so that scores that leave
 * the range of the reference are seen, too.
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
