import { randomUUID } from 'node:crypto';
import type { CallReservation } from '../../judge/judge-scope.ts';
import type { JudgeCallStore } from '../../store/contracts/stores.ts';
import { BudgetAccount, type BudgetAsk, type BudgetReading } from './budget-account.ts';

/** Daily budgets of rules, shared with every other process through the store. */
export interface Budget {
  /**
   * Puts money aside for one call. Where the budget is held by calls under way, waits for them a while. Throws an `AppError`
   * `budget_exhausted` that says when to try again, or what the store throws.
   */
  reserve(ask: BudgetAsk): Promise<CallReservation>;
  /** Writes what has been settled. What the store does not take now is written later. */
  flush(): Promise<void>;
  /** The budgets that were asked here, as of their last call. */
  readings(): BudgetReading[];
}

export interface BudgetTerms {
  /** Interval of the checks of a budget that calls under way hold, milliseconds. */
  readonly recheckMs?: number;
  /** Time that a call waits for settlements of others, milliseconds. */
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
