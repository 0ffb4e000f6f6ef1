import { randomUUID } from 'node:crypto';
import type { CallReservation } from '../../judge/judge-scope.ts';
import type { JudgeCallStore } from '../../store/contracts/stores.ts';
import { BudgetAccount, type AccountTerms } from './budget-account.ts';
import type { BudgetAsk, BudgetReading } from './budget-ask.ts';
import { LearnedCosts } from './learned-costs.ts';

/** Daily budgets of rules. All processes of a store share them. */
export interface Budget {
  /**
   * Reserves money for one call. When calls under way or other processes hold the rest of the budget, waits for it up to a limit.
   * Throws an `AppError` `budget_exhausted` with the time of the next attempt, or what the store throws.
   */
  reserve(ask: BudgetAsk): Promise<CallReservation>;
  /**
   * Writes the costs of the calls and gives back the leased money that no call reserves. Entries that the store does not take now
   * are written later.
   */
  giveBack(): Promise<void>;
  /** Returns the budgets that this process has used, as of their last call. */
  readings(): BudgetReading[];
}

const DEFAULT_TERMS: AccountTerms = {
  recheckMs: 1_000,
  maxWaitMs: 30_000,
  idleMs: 10_000,
  writeDelayMs: 1_000,
  newId: randomUUID,
  random: Math.random,
};

export function createBudget(
  store: Pick<JudgeCallStore, 'readSpending' | 'spend'>,
  terms: Partial<AccountTerms> = {},
): Budget {
  const accounts = new Map<string, BudgetAccount>();
  const costs = new LearnedCosts();

  function openAccount(rule: string): BudgetAccount {
    let account = accounts.get(rule);
    if (account === undefined) {
      account = new BudgetAccount(rule, store, costs, { ...DEFAULT_TERMS, ...terms });
      accounts.set(rule, account);
    }
    return account;
  }

  return {
    reserve: (ask) => openAccount(ask.rule).reserve(ask),
    async giveBack() {
      await Promise.all([...accounts.values()].map((account) => account.giveBack()));
    },
    readings: () => [...accounts.values()].flatMap((account) => account.reading() ?? []),
  };
}
