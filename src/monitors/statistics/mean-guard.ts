import type { ScoreHistogram, IntervalScores } from '../bucket.ts';
import { sumHistogram } from '../bucket.ts';
import type { Finding } from '../detector.ts';
import { meanEvidence, noEvidence, stakes, type Variances, weigh } from './evidence.ts';
import { computeSlot } from './slots.ts';

/** Claim that a guard tests: "the mean of the observations is at least the bound". */
export interface GuardTerms {
  /** The bound by slot of time: one for all, one for each hour of the day, or one for each hour of the week. */
  readonly bounds: readonly number[];
  /** Tolerated drop: distance of the bound below the expected mean. */
  readonly tolerance: number;
  /** Guesses of the variance of an observation. */
  readonly variances: Variances;
  /** Evidence of the reverse claim at which an alarm ends. */
  readonly resolveAt: number;
}

/** The time during which the sum of observations is below the bound: where a change began, if there was one. */
export interface Excursion {
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
  /** Distance of the mean below the bound when the alarm was raised. */
  readonly gap: number;
  /** Evidence against "the mean is still low". */
  readonly recovery: readonly number[];
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
 * the evidence is enough (`raise`). Then the guard weighs the mirror claim, "the mean is at most half way between the bound and
 * the observed mean"; evidence against that claim ends the alarm.
 */
export function meanGuard(terms: GuardTerms): MeanGuard {
  const stakesDown = stakes(terms.variances, Math.min(...terms.bounds));
  const boundAt = (timeMs: number): number => terms.bounds[computeSlot(timeMs, terms.bounds.length)] ?? 0;
  const fresh: GuardState = { evidence: noEvidence(stakesDown), excursion: null, alarm: null };
  return {
    start: () => fresh,
    step(state, { startMs, scores }) {
      const bound = boundAt(startMs);
      if (state.alarm === null) {
        return {
          evidence: weigh(state.evidence, stakesDown, bound, scores),
          excursion: continueGuard(state.excursion, { startMs, bound, scores }),
          alarm: null,
        };
      }
      const recovery = weighRecovery(terms, state.alarm, bound, scores);
      return meanEvidence(recovery) >= terms.resolveAt
        ? fresh
        : { ...state, alarm: { ...state.alarm, recovery } };
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
      return { ...state, alarm: { finding, gap: shortfall / count, recovery: noEvidence(stakesDown) } };
    },
  };
}

/** Weighs the mirror claim: it is about 1 - x, whose mean is at least 1 - r, with r half way down the gap. */
function weighRecovery(
  terms: GuardTerms,
  alarm: Alarm,
  bound: number,
  scores: ScoreHistogram,
): readonly number[] {
  const mirror = (slotBound: number): number => 1 - slotBound + alarm.gap / 2;
  const stakesUp = stakes(terms.variances, mirror(Math.max(...terms.bounds)));
  return weigh(alarm.recovery, stakesUp, mirror(bound), mirrorHistogram(scores));
}

/** Mirrors observations: 1 becomes 0. */
export function mirrorHistogram({ values, counts }: ScoreHistogram): ScoreHistogram {
  return { values: values.map((value) => 1 - value), counts };
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
  if (shortfall <= 0) {
    return null;
  }
  return {
    beganMs: excursion?.beganMs ?? startMs,
    shortfall,
    count: (excursion?.count ?? 0) + count,
    sum: (excursion?.sum ?? 0) + sum,
  };
}
