import { reaches } from '../../domain/limits.ts';
import { type IntervalScores, sumHistogram, type ScoreHistogram, mirrorHistogram } from '../bucket.ts';
import type { Finding } from '../detector.ts';
import { meanEvidence, noEvidence, stakes, type Variances, weigh, capStake } from './evidence.ts';
import { computeSlot } from './baseline.ts';

/** Stakes as parts of the stake for a full recovery: the smaller one finds a mean that recovers in part. */
const STAKES = [0.5, 1] as const;

/** Line of the test: this part of the way from the low mean to the expected mean, */
const PART_TO_MEAN = 0.4;

/** and at most this part of the way from the low mean to the bound. */
const MOST_TO_BOUND = 0.55;

/** Line for a mean that moves by itself: so many standard deviations of its movement above the low mean, */
const MOVEMENT_DEVIATIONS = 3.5;

/** and at most this part of the way from the low mean to the expected mean. */
const MOST_TO_MEAN = 0.5;

/** Guess of the gap before the observations after the alarm: a part of the gap at the alarm. */
const GUESSED_PART = 0.5;

/** Observations that the guesses of gap and variance count as. */
const GUESS_COUNT = 30;

/** Smallest gap, as a part of the gap at the alarm. */
const SMALLEST_PART = 0.2;

/** Claim that a guard tests: "the mean of the observations is at least the bound". */
export interface GuardTerms {
  /** The bound by slot of time: one for all, one for each hour of the day, or one for each hour of the week. */
  readonly bounds: readonly number[];
  /** Tolerated drop: distance of the bound below the expected mean. */
  readonly tolerance: number;
  /** Guesses of the variance of an observation. */
  readonly variances: Variances;
  /** Drops of the mean that the bets are designed for. Absent: those of scores. */
  readonly drops?: readonly number[];
  /** Evidence of the reverse claim at which an alarm ends. */
  readonly resolveAt: number;
  /** Observations that tell as much as one that is independent; absent: 1. */
  readonly clumping?: number | undefined;
  /** Variance of the slow movement of the mean; absent: 0. */
  readonly slowVariance?: number;
}

/** The time during which the sum of observations is below the bound: where a change began, if there was one. */
interface Excursion {
  /** Start of its first bucket, Unix milliseconds. */
  readonly beganMs: number;
  /** Sum of bound minus observation. */
  readonly shortfall: number;
  readonly count: number;
  readonly sum: number;
}

/** State of an alarm, until the reverse claim is proved. */
interface Alarm {
  readonly finding: Finding;
  readonly recovery: Recovery;
}

export interface GuardState {
  readonly evidence: readonly number[];
  readonly excursion: Excursion | null;
  readonly alarm: Alarm | null;
}

export interface MeanGuard {
  start(): GuardState;
  /** Weighs one more bucket or, during an alarm, tests whether it is over. */
  step(state: GuardState, bucket: IntervalScores): GuardState;
  /** Raises the alarm when the caller finds enough evidence; without an excursion the state does not change. */
  raise(state: GuardState): GuardState;
}

/**
 * Creates a guard of one mean. It gathers evidence that the mean fell (`evidence.ts`), and since when. The caller decides when
 * the evidence is enough (`raise`). Then the guard weighs the mirror claim, "the mean is still low" (`recovery.ts`); evidence
 * against that claim ends the alarm.
 */
export function meanGuard(terms: GuardTerms): MeanGuard {
  const stakesDown = stakes(terms.variances, Math.min(...terms.bounds), terms.drops);
  const boundAt = (timeMs: number): number => terms.bounds[computeSlot(timeMs, terms.bounds.length)] ?? 0;
  const { tolerance, clumping = 1, slowVariance = 0 } = terms;
  const recoveryTerms = { tolerance, clumping, variance: terms.variances[0], slowVariance };
  const fresh: GuardState = { evidence: noEvidence(stakesDown), excursion: null, alarm: null };
  return {
    start: () => fresh,
    step(state, { startMs, scores }) {
      const bound = boundAt(startMs);
      if (state.alarm === null) {
        return {
          evidence: weigh(state.evidence, stakesDown, bound, scores, clumping),
          excursion: continueGuard(state.excursion, { startMs, bound, scores }),
          alarm: null,
        };
      }
      const recovery = weighRecovery(state.alarm.recovery, recoveryTerms, bound, scores);
      return meanEvidence(recovery.evidence) >= terms.resolveAt
        ? fresh
        : { ...state, alarm: { finding: state.alarm.finding, recovery } };
    },
    raise(state) {
      if (state.excursion === null) {
        return state;
      }
      const { count, sum, shortfall, beganMs } = state.excursion;
      const finding: Finding = {
        changeBeganMs: beganMs,
        before: (sum + shortfall) / count + terms.tolerance,
        after: sum / count,
        count,
        evidenceLog10: Math.log10(meanEvidence(state.evidence)),
      };
      const observed = { count: 0, shortfall: 0, squares: 0 };
      const recovery = { gapAtAlarm: shortfall / count, observed, evidence: STAKES.map(() => 0) };
      return { ...state, alarm: { finding, recovery } };
    },
  };
}

/** Weighs one more bucket, and raises the alarm where the evidence reaches `fireAt`. */
export function stepGuard(
  guard: MeanGuard,
  state: GuardState,
  observed: IntervalScores,
  fireAt: number,
): GuardState {
  const next = guard.step(state, observed);
  return next.alarm === null && meanEvidence(next.evidence) >= fireAt ? guard.raise(next) : next;
}

/** Returns the decimal logarithm of the evidence: the evidence of the alarm while there is an alarm. */
export function readEvidence({ alarm, evidence }: GuardState): number | null {
  return alarm === null ? Math.log10(meanEvidence(evidence) || 1) : alarm.finding.evidenceLog10;
}

/** Sums the shortfalls below the bound, and restarts where they are made up: this finds the start with the largest sum. */
function continueGuard(
  excursion: Excursion | null,
  { startMs, bound, scores }: IntervalScores & { readonly bound: number },
): Excursion | null {
  const { count, sum } = sumHistogram(scores);
  if (count === 0) {
    return excursion;
  }
  const shortfall = (excursion?.shortfall ?? 0) + count * bound - sum;
  if (reaches(0, shortfall)) {
    return null;
  }
  return {
    beganMs: excursion?.beganMs ?? startMs,
    shortfall,
    count: (excursion?.count ?? 0) + count,
    sum: (excursion?.sum ?? 0) + sum,
  };
}

/** Sums of the observations since an alarm. */
interface Observed {
  readonly count: number;
  /** Sum of bound minus observation. */
  readonly shortfall: number;
  /** Sum of the squares of bound minus observation. */
  readonly squares: number;
}

interface Recovery {
  /** Distance of the mean below the bound when the alarm was raised. It is too large on average: chance helped to raise it. */
  readonly gapAtAlarm: number;
  readonly observed: Observed;
  /** Evidence against "the mean is still low", for each stake. */
  readonly evidence: readonly number[];
}

interface RecoveryTerms {
  /** Distance of the bound below the expected mean. */
  readonly tolerance: number;
  /** Variance of an observation while the mean is normal. */
  readonly variance: number;
  readonly clumping: number;
  readonly slowVariance: number;
}

/**
 * Weighs "the mean is at most the line" with one more bucket. The line lies between the mean since the alarm and the expected
 * mean. Only earlier buckets set the line and the stakes, so the evidence is an e-detector (`evidence.ts`) while the mean is at
 * most the line.
 */
function weighRecovery(
  recovery: Recovery,
  terms: RecoveryTerms,
  bound: number,
  scores: ScoreHistogram,
): Recovery {
  const { gapAtAlarm, observed, evidence } = recovery;
  const { gap, variance } = estimateLowMean(recovery, terms);
  const toMean = gap + terms.tolerance;
  const toLine = Math.max(
    Math.min(PART_TO_MEAN * toMean, MOST_TO_BOUND * gap),
    Math.min(MOVEMENT_DEVIATIONS * Math.sqrt(terms.slowVariance), MOST_TO_MEAN * toMean),
  );
  const line = Math.max(bound - gap, 0) + toLine;
  const rise = bound + terms.tolerance - line;
  const recoveryStakes = STAKES.map((part) =>
    capStake((part * rise) / (variance + (part * rise) ** 2), 1 - line),
  );
  return {
    gapAtAlarm,
    observed: addObserved(observed, bound, scores),
    evidence: weigh(evidence, recoveryStakes, 1 - line, mirrorHistogram(scores), terms.clumping),
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
