import { randomUUID } from 'node:crypto';
import type { CallReservation } from '../../judge/judge-scope.ts';
import type { JudgeCallStore } from '../../store/contracts/stores.ts';
import { BudgetAccount, type BudgetAsk, type BudgetReading } from './budget-account.ts';

/** Daily budgets of rules. All processes of a store share them. */
export interface Budget {
  /**
   * Reserves money for one call. When calls under way have reserved the rest of the budget, waits for them up to a limit. Throws
   * an `AppError` `budget_exhausted` with the time of the next attempt, or what the store throws.
   */
  reserve(ask: BudgetAsk): Promise<CallReservation>;
  /** Writes the settlements. Those that the store does not take now are written later. */
  flush(): Promise<void>;
  /** Returns the budgets that this process has used, as of their last call. */
  readings(): BudgetReading[];
}

export interface BudgetTerms {
  /** Interval of the checks of a budget that calls under way have reserved, milliseconds. */
  readonly recheckMs?: number;
  /** Longest wait of a call for the settlements of other calls, milliseconds. */
  readonly maxWaitMs?: number;
}

const RECHECK_MS = 1_000;
const MAX_WAIT_MS = 30_000;

export function createBudget(
  store: Pick<JudgeCallStore, 'readSpending' | 'spend'>,
  { recheckMs = RECHECK_MS, maxWaitMs = MAX_WAIT_MS }: BudgetTerms = {},
): Budget {
  const accounts = new Map<string, BudgetAccount>();

  function openAccount(rule: string): BudgetAccount {
    let account = accounts.get(rule);
    if (account === undefined) {
      account = new BudgetAccount(rule, store, { recheckMs, maxWaitMs, newCallId: randomUUID });
      accounts.set(rule, account);
    }
    return account;
  }

  return {
    reserve: (ask) => openAccount(ask.rule).reserve(ask),
    async flush() {
      await Promise.all([...accounts.values()].map((account) => account.flush()));
    },
    readings: () => [...accounts.values()].flatMap((account) => account.reading() ?? []),
  };
}
