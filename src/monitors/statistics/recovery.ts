import type { ScoreHistogram } from '../bucket.ts';
import { mirrorHistogram, sumHistogram } from '../bucket.ts';
import { capStake, weigh } from './evidence.ts';

/** Sums of the observations since an alarm. */
interface Observed {
  readonly count: number;
  /** Sum of bound minus observation. */
  readonly shortfall: number;
  /** Sum of the squares of bound minus observation. */
  readonly squares: number;
}

/** State of the test whether an alarm is over. */
export interface Recovery {
  /** Distance of the mean below the bound when the alarm was raised. It is too large on average: chance helped to raise it. */
  readonly gapAtAlarm: number;
  readonly observed: Observed;
  /** Evidence against "the mean is still low", for each stake. */
  readonly evidence: readonly number[];
}

export interface RecoveryTerms {
  /** Distance of the bound below the expected mean. */
  readonly tolerance: number;
  /** Variance of an observation while the mean is normal. */
  readonly variance: number;
}

/** Stakes as parts of the stake for a full recovery: the smaller one finds a mean that recovers in part. */
const STAKES = [0.5, 1] as const;
/** Line of the test: this part of the way from the low mean to the expected mean, */
const PART_TO_MEAN = 0.4;
/** and at most this part of the way from the low mean to the bound. */
const MOST_TO_BOUND = 0.55;
/** Guess of the gap before the observations after the alarm: a part of the gap at the alarm. */
const GUESSED_PART = 0.5;
/** Observations that the guesses of gap and variance count as. */
const GUESS_COUNT = 30;
/** Smallest gap, as a part of the gap at the alarm. */
const SMALLEST_PART = 0.2;

export function startRecovery(gapAtAlarm: number): Recovery {
  return {
    gapAtAlarm,
    observed: { count: 0, shortfall: 0, squares: 0 },
    evidence: STAKES.map(() => 0),
  };
}

/**
 * Weighs "the mean is at most the line" with one more bucket. The line lies between the mean since the alarm and the expected
 * mean. Only earlier buckets set the line and the stakes, so the evidence is an e-detector (`evidence.ts`) while the mean is at
 * most the line.
 */
export function weighRecovery(
  recovery: Recovery,
  terms: RecoveryTerms,
  bound: number,
  scores: ScoreHistogram,
): Recovery {
  const { gapAtAlarm, observed, evidence } = recovery;
  const { gap, variance } = estimateLowMean(recovery, terms);
  const toLine = Math.min(PART_TO_MEAN * (gap + terms.tolerance), MOST_TO_BOUND * gap);
  const line = Math.max(bound - gap, 0) + toLine;
  const rise = bound + terms.tolerance - line;
  const stakes = STAKES.map((part) => capStake((part * rise) / (variance + (part * rise) ** 2), 1 - line));
  return {
    gapAtAlarm,
    observed: addObserved(observed, bound, scores),
    evidence: weigh(evidence, stakes, 1 - line, mirrorHistogram(scores)),
  };
}

/** Estimates the distance below the bound and the variance of an observation, from the observations since the alarm. */
function estimateLowMean(
  { gapAtAlarm, observed }: Recovery,
  { variance }: RecoveryTerms,
): { readonly gap: number; readonly variance: number } {
  const { count, shortfall, squares } = observed;
  const weight = GUESS_COUNT + count;
  const gap = (GUESS_COUNT * GUESSED_PART * gapAtAlarm + shortfall) / weight;
  const spread = count === 0 ? 0 : Math.max(0, squares - (shortfall * shortfall) / count);
  return {
    gap: Math.max(gap, SMALLEST_PART * gapAtAlarm),
    variance: (GUESS_COUNT * variance + spread) / weight,
  };
}

function addObserved(observed: Observed, bound: number, scores: ScoreHistogram): Observed {
  const { count, sum } = sumHistogram(scores);
  const squares = scores.values.reduce(
    (total, value, index) => total + (scores.counts[index] ?? 0) * (bound - value) ** 2,
    observed.squares,
  );
  return {
    count: observed.count + count,
    shortfall: observed.shortfall + count * bound - sum,
    squares,
  };
}
