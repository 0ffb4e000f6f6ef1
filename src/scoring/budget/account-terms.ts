import type { JudgeCallStore, Spending } from '../../store/contracts/stores.ts';
import type { EntryIds } from './budget-pool.ts';
import type { LearnedCosts } from './learned-costs.ts';
import type { SpendJournal } from './spend-journal.ts';

/** Longest time between two entries of a live process, milliseconds: longer than any scorer may run. */
export const OPEN_LEASE_MS = 10 * 60_000;

/** Largest block of a lease that no waiting call needs, as a part of the budget. */
export const BLOCK_SHARE = 0.01;

/** Largest such block as a part of the remaining money, so that the last money is not idle in one process. */
export const REST_SHARE = 1 / 16;

export interface AccountTerms {
  /** Interval of the checks of a budget that is leased, but not spent, milliseconds. */
  readonly recheckMs: number;
  /** Longest wait of a call for money of other calls or processes, milliseconds. */
  readonly maxWaitMs: number;
  /** Time without a call after which the unused money goes back, milliseconds. */
  readonly idleMs: number;
  /** Returns a number in [0, 1), so that processes do not check at the same times. */
  readonly random: () => number;
}

/** Parts of a process that its budgets share. */
export interface AccountShares {
  readonly store: Pick<JudgeCallStore, 'readSpending'>;
  readonly journal: SpendJournal;
  readonly costs: LearnedCosts;
  readonly ids: EntryIds;
}

/** Last totals of the store, with the later changes of this process. */
export interface KnownSpending extends Spending {
  readonly dayMs: number;
  readonly readAtMs: number;
  /** Spent on the earlier days of the month; 0 for a budget without a monthly limit. */
  readonly earlierUsd: number;
}

/** Applies a change of booked and of leased money to totals, USD. */
export function changeSpending(known: KnownSpending, bookedUsd: number, leasedUsd: number): KnownSpending {
  return {
    ...known,
    bookedUsd: known.bookedUsd + bookedUsd,
    reservedUsd: Math.max(0, known.reservedUsd + leasedUsd),
  };
}
