import { randomUUID } from 'node:crypto';
import type {
  BudgetCaps,
  BudgetScope,
  ScopedBudget,
  ScopeRest,
  SharedBudgets,
} from '../../domain/money/budget.ts';
import { unpricedBudget } from '../../domain/money/model-prices.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { CallReservation, JudgeScope } from '../../judge/judge-scope.ts';
import type { JudgeCallStore } from '../../store/tables/judge-calls.ts';
import { BudgetAccount, type AccountShares, type AccountReservation } from './budget-account.ts';
import { computeFree, type BudgetRequest, type BudgetRest, type SpentCap } from './budget-request.ts';
import { clampToDay, LearnedCosts, SpendJournal } from './spend-journal.ts';

/** Budgets of rules, tenants and the installation. */
export type Budget = Pick<ProcessBudget, keyof ProcessBudget>;

/** Facts that decide which budgets apply to a call. */
type BudgetedCall = Pick<BudgetRequest, 'rule' | 'caps' | 'tenant'>;

/** Times of the budgets of a process, milliseconds. `writeDelayMs` delays the write of costs, so that many go in one statement. */
const TERMS = {
  recheckMs: 1_000,
  maxWaitMs: 30_000,
  idleMs: 10_000,
  writeDelayMs: 1_000,
  newId: (): string => randomUUID(),
  random: Math.random,
};

/** @param shared budgets beside the budgets of rules */
export function createBudget(
  store: Pick<JudgeCallStore, 'readSpending' | 'spend'>,
  shared: SharedBudgets = {},
  terms: Partial<typeof TERMS> = {},
): Budget {
  return new ProcessBudget(store, shared, { ...TERMS, ...terms });
}

/**
 * Creates the function that reserves money for each judge call of one kind; undefined when no budget applies.
 * @param payer name of what asks, for the error of a judge without a price
 */
export function createReserve(
  budget: Pick<Budget, 'isLimited' | 'reserve'>,
  call: Omit<BudgetRequest, 'model' | 'usd'>,
  payer: string,
): JudgeScope['reserve'] {
  if (!budget.isLimited(call)) {
    return undefined;
  }
  return async ({ model, estimatedUsd: usd }) => {
    if (usd === undefined) {
      throw new JudgeError('judge_misconfigured', `${payer}: ${unpricedBudget(model)}`);
    }
    return usd === 0 ? { settle: () => undefined } : budget.reserve({ ...call, model, usd });
  };
}

/** Budgets of one process. All processes of a store share them. */
class ProcessBudget {
  #shared: SharedBudgets;
  readonly #shares: AccountShares;
  readonly #accounts = new Map<string, BudgetAccount>();

  constructor(
    store: Pick<JudgeCallStore, 'readSpending' | 'spend'>,
    shared: SharedBudgets,
    { writeDelayMs, ...terms }: typeof TERMS,
  ) {
    this.#shared = shared;
    const journal = new SpendJournal(store, writeDelayMs);
    this.#shares = { ...terms, store, journal, costs: new LearnedCosts(), leaseId: terms.newId() };
  }

  /** Changes the budgets beside the budgets of rules. Reservations stay. */
  setShared(shared: SharedBudgets): void {
    this.#shared = shared;
  }

  /** Returns true when a call of the rule for the tenant needs money of a budget. */
  isLimited({ caps, tenant }: Pick<BudgetRequest, 'caps' | 'tenant'>): boolean {
    return listBudgets({ rule: '', tenant, caps }, this.#shared).length > 0;
  }

  /**
   * Reserves money for one call in every budget that applies. When calls under way or other processes hold the rest of a budget,
   * waits for it up to a limit. Throws an `AppError` `budget_exhausted` with the time of the next attempt, or what the store throws.
   */
  async reserve(request: BudgetRequest): Promise<CallReservation> {
    for (;;) {
      const reserved = await this.#reserveAll(request);
      // The one entry of a call belongs to one day. Midnight may come between two reservations.
      if (new Set(reserved.map(({ dayMs }) => dayMs)).size <= 1) {
        return { settle: (costUsd) => this.#settle(reserved, request, costUsd) };
      }
      cancel(reserved);
    }
  }

  /** Reads the budgets that apply to a call, unless they were read a moment ago. Throws what the store throws. */
  async refresh(call: BudgetedCall, nowMs: () => number): Promise<void> {
    for (const { account, caps } of this.#accountsOf(call)) {
      await account.refresh(caps, nowMs);
    }
  }

  /** Returns the money for further calls, as far as this process knows. */
  findRest(call: BudgetedCall, nowMs: number): BudgetRest {
    const rests = this.#accountsOf(call).map(({ account }) => account.findRest(nowMs));
    const spent = rests.flatMap((rest) => rest.spent ?? []);
    return {
      restUsd: Math.min(...rests.map(({ restUsd }) => restUsd)),
      spent: spent.toSorted((one, other) => one.renewsAtMs - other.renewsAtMs).at(-1),
    };
  }

  /** Lists what neither calls have spent nor processes have leased, for each budget of a call, by the last read. */
  listUnleased(call: BudgetedCall): ScopeRest[] {
    return this.#accountsOf(call).map(({ scope, account }) => ({
      scope,
      restUsd: Math.min(Infinity, ...account.readings().map(computeFree)),
    }));
  }

  /**
   * Writes the costs of the calls and gives back the leased money that no call reserves. Entries that the store does not take now
   * are written later.
   */
  async giveBack(): Promise<void> {
    await Promise.all([...this.#accounts.values()].map((account) => account.giveBack()));
    await this.#shares.journal.flush();
  }

  /** Lists the caps that refuse further calls of this process until they renew. */
  listSpent(nowMs: number): SpentCap[] {
    return [...this.#accounts.values()].flatMap((account) => account.findRest(nowMs).spent ?? []);
  }

  /** Lists the budgets that apply to a call, the narrowest first, with the accounts of this process. */
  #accountsOf(call: BudgetedCall): (ScopedBudget & { readonly account: BudgetAccount })[] {
    return listBudgets(call, this.#shared).map((budget) => {
      // A call by the former rules keeps the caps of these rules after a reload.
      const key = JSON.stringify(budget);
      const account = this.#accounts.get(key) ?? new BudgetAccount(budget.scope, this.#shares);
      this.#accounts.set(key, account);
      return { ...budget, account };
    });
  }

  /** Reserves the money in one budget after the other, always in the same order, so that calls do not wait for each other. */
  async #reserveAll(request: BudgetRequest): Promise<AccountReservation[]> {
    const { model, usd, nowMs, signal } = request;
    const reserved: AccountReservation[] = [];
    try {
      for (const { account, caps } of this.#accountsOf(request)) {
        reserved.push(await account.reserve({ caps, model, usd, nowMs, signal }));
      }
      return reserved;
    } catch (error) {
      cancel(reserved);
      throw error;
    }
  }

  #settle(
    reserved: readonly AccountReservation[],
    request: BudgetRequest,
    costUsd: number | undefined,
  ): void {
    const { costs, journal, leaseId, newId } = this.#shares;
    if (costUsd !== 0) {
      costs.observe(request.model, request.usd, costUsd);
    }
    const chargedUsd = costUsd ?? Math.max(...reserved.map(({ usd }) => usd));
    const [first] = reserved;
    if (chargedUsd > 0 && first !== undefined) {
      const { rule, tenant, scoreId } = request;
      const call = { kind: 'call', scope: '', rule, tenant, scoreId, costUsd: chargedUsd } as const;
      journal.addCall({ ...call, atMs: clampToDay(request.nowMs(), first.dayMs), leaseId, entryId: newId() });
    }
    reserved.forEach((each) => each.settle(chargedUsd));
    journal.writeSoon();
  }
}

function cancel(reserved: readonly AccountReservation[]): void {
  reserved.forEach((each) => each.settle(0));
}

/** Lists the budgets that apply to a call, the narrowest first. */
function listBudgets(
  { rule, tenant, caps }: BudgetedCall,
  { total, tenants = {} }: SharedBudgets,
): ScopedBudget[] {
  const own = Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined;
  const all: [BudgetScope, BudgetCaps | undefined][] = [
    [{ kind: 'rule', name: rule }, caps],
    [{ kind: 'tenant', name: tenant }, own],
    [{ kind: 'total', name: '' }, total],
  ];
  return all.flatMap(([scope, limits]) =>
    limits?.perDay === undefined && limits?.perMonth === undefined ? [] : [{ scope, caps: limits }],
  );
}
