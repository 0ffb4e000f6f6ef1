import { reaches } from '../../domain/limits.ts';
import type { IntervalScores } from '../bucket.ts';
import { sumHistogram } from '../bucket.ts';
import type { Finding } from '../detector.ts';
import { meanEvidence, noEvidence, stakes, type Variances, weigh } from './evidence.ts';
import { type Recovery, startRecovery, weighRecovery } from './recovery.ts';
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
  readonly recovery: Recovery;
}

/** Alarm in a checkpoint of an earlier version: its test estimated nothing after the alarm. */
interface FormerAlarm {
  readonly finding: Finding;
  readonly gap: number;
}

export interface GuardState {
  readonly evidence: readonly number[];
  readonly excursion: Excursion | null;
  readonly alarm: Alarm | FormerAlarm | null;
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
  const stakesDown = stakes(terms.variances, Math.min(...terms.bounds));
  const boundAt = (timeMs: number): number => terms.bounds[computeSlot(timeMs, terms.bounds.length)] ?? 0;
  const recoveryTerms = { tolerance: terms.tolerance, variance: terms.variances[0] };
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
      const recovery = weighRecovery(readRecovery(state.alarm), recoveryTerms, bound, scores);
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
      return { ...state, alarm: { finding, recovery: startRecovery(shortfall / count) } };
    },
  };
}

function readRecovery(alarm: Alarm | FormerAlarm): Recovery {
  return 'gap' in alarm ? startRecovery(alarm.gap) : alarm.recovery;
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
