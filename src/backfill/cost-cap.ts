import { AppError } from '../domain/errors.ts';
import { ROUNDING_USD, showUsd } from '../domain/money/usd.ts';
import type { Budget } from '../scoring/budget/budget.ts';
import type { BudgetAsk } from '../scoring/budget/budget-ask.ts';
import { LearnedCosts } from '../scoring/budget/learned-costs.ts';
import type { CallReservation } from '../judge/judge-scope.ts';

/** Most money that the judge calls of one backfill may cost. */
export class CostCap {
  readonly #capUsd: number;
  readonly #costs = new LearnedCosts();
  #spentUsd: number;
  #reservedUsd = 0;
  #isSpent = false;
  #settled = Promise.withResolvers<void>();

  /** @param spentUsd money that earlier runs of the job have spent */
  constructor(capUsd: number, spentUsd: number) {
    this.#capUsd = capUsd;
    this.#spentUsd = spentUsd;
  }

  /** True when a call was refused. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Returns a budget that takes money of the cap, too. */
  limit(budget: Budget): Budget {
    return {
      isLimited: () => true,
      reserve: (ask) => this.#reserve(ask, budget),
      refresh: (call, nowMs) => budget.refresh(call, nowMs),
      findRest: (call, nowMs) => budget.findRest(call, nowMs),
      listUnleased: (call) => budget.listUnleased(call),
      giveBack: () => budget.giveBack(),
      listSpent: (nowMs) => budget.listSpent(nowMs),
    };
  }

  async #reserve(ask: BudgetAsk, budget: Budget): Promise<CallReservation> {
    const usd = await this.#take(ask);
    const release = (costUsd: number | undefined): void => {
      this.#reservedUsd -= usd;
      this.#spentUsd += costUsd ?? usd;
      if (costUsd !== 0) {
        this.#costs.observe(ask.model, ask.usd, costUsd);
      }
      this.#settled.resolve();
      this.#settled = Promise.withResolvers();
    };
    try {
      const inner = budget.isLimited(ask) ? await budget.reserve(ask) : undefined;
      return {
        settle: (costUsd) => {
          release(costUsd);
          inner?.settle(costUsd);
        },
      };
    } catch (error) {
      release(0);
      throw error;
    }
  }

  /** Reserves the expected cost. Waits for calls under way, which may cost less than expected, and for the first call of a model. */
  async #take({ model, usd, signal }: BudgetAsk): Promise<number> {
    for (;;) {
      const expectedUsd = this.#costs.expect(model, usd);
      const fits = this.#spentUsd + this.#reservedUsd + expectedUsd <= this.#capUsd + ROUNDING_USD;
      if (fits && (this.#reservedUsd <= ROUNDING_USD || this.#costs.isKnown(model))) {
        this.#reservedUsd += expectedUsd;
        return expectedUsd;
      }
      if (this.#reservedUsd <= ROUNDING_USD || signal?.aborted === true) {
        this.#isSpent ||= signal?.aborted !== true;
        throw this.#buildRefusal(model, expectedUsd);
      }
      await this.#settled.promise;
    }
  }

  #buildRefusal(model: string, expectedUsd: number): AppError {
    const [cap, spent, next] = [this.#capUsd, this.#spentUsd, expectedUsd].map(showUsd);
    return new AppError(
      `the backfill may cost ${cap} USD: ${spent} USD are spent, and a call to ${model} is estimated at ${next} USD`,
      { code: 'budget_exhausted', stage: 'judge', retryable: true },
    );
  }
}
