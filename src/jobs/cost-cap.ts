import { AppError } from '../domain/errors.ts';
import { ROUNDING_USD, showUsd } from '../domain/money/usd.ts';
import type { Budget } from '../scoring/budget/budget.ts';
import type { BudgetRequest } from '../scoring/budget/budget-request.ts';
import { LearnedCosts } from '../scoring/budget/spend-journal.ts';
import type { CallReservation } from '../judge/judge-scope.ts';

/** Largest claim that no call needs yet, as a part of the cap: so few calls wait for a statement of the store. */
const CLAIM_SHARE = 0.01;

/**
 * Most money that the judge calls of one backfill may cost. Calls reserve their expected cost. The process may be killed at any time, so
 * before a call begins, the money for it is claimed: the claim is stored with the progress of the job. The next process counts it as
 * spent. So a kill makes no money available again, and takes at most a claim for the calls under way and a block.
 */
export class CostCap {
  readonly #capUsd: number;
  readonly #storeClaim: () => Promise<void>;
  readonly #costs = new LearnedCosts();
  #spentUsd: number;
  #reservedUsd = 0;
  /** Part of the reserved money whose calls have begun. */
  #begunUsd = 0;
  /** Money of the calls that wait until their claim is stored. */
  #waitingUsd = 0;
  /** Claim of the next progress that is stored. */
  #claimUsd: number;
  /** Claim that is stored. */
  #storedUsd: number;
  #storing: Promise<void> | undefined;
  #isSpent = false;
  #settled = Promise.withResolvers<void>();

  /**
   * @param spentUsd money that earlier runs of the job have spent or claimed
   * @param storeClaim stores the progress of the job, with `claimUsd`
   */
  constructor(capUsd: number, spentUsd: number, storeClaim: () => Promise<void>) {
    this.#capUsd = capUsd;
    this.#spentUsd = spentUsd;
    this.#claimUsd = spentUsd;
    this.#storedUsd = spentUsd;
    this.#storeClaim = storeClaim;
  }

  /** Money that calls may have cost before the next progress is stored, USD. */
  get claimUsd(): number {
    return Math.max(this.#claimUsd, this.paidUsd);
  }

  /** Money that calls have cost, or cost while they are under way, USD. */
  get paidUsd(): number {
    return this.#spentUsd + this.#begunUsd;
  }

  /** True when a call was refused. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Returns a budget that takes money of the cap, too. */
  limit(budget: Budget): Budget {
    return {
      isLimited: () => true,
      setShared: (shared) => budget.setShared(shared),
      reserve: (ask) => this.#reserve(ask, budget),
      refresh: (call, nowMs) => budget.refresh(call, nowMs),
      findRest: (call, nowMs) => budget.findRest(call, nowMs),
      listUnleased: (call) => budget.listUnleased(call),
      giveBack: () => budget.giveBack(),
      listSpent: (nowMs) => budget.listSpent(nowMs),
    };
  }

  async #reserve(request: BudgetRequest, budget: Budget): Promise<CallReservation> {
    const usd = await this.#take(request);
    let begunUsd = 0;
    const release = (costUsd: number | undefined): void => {
      this.#reservedUsd -= usd;
      this.#begunUsd -= begunUsd;
      this.#spentUsd += costUsd ?? usd;
      if (costUsd !== 0) {
        this.#costs.observe(request.model, request.usd, costUsd);
      }
      this.#settled.resolve();
      this.#settled = Promise.withResolvers();
    };
    try {
      const inner = budget.isLimited(request) ? await budget.reserve(request) : undefined;
      return {
        begin: async () => {
          await this.#claim(usd);
          begunUsd = usd;
          await inner?.begin?.();
        },
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
  async #take({ model, usd, signal }: BudgetRequest): Promise<number> {
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

  /** Waits until a stored claim covers one more call. Throws what the store throws. */
  async #claim(usd: number): Promise<void> {
    this.#waitingUsd += usd;
    try {
      while (this.paidUsd + usd > this.#storedUsd + ROUNDING_USD) {
        this.#storing ??= this.#enlargeClaim().finally(() => {
          this.#storing = undefined;
        });
        await this.#storing;
      }
      this.#begunUsd += usd;
    } finally {
      this.#waitingUsd -= usd;
    }
  }

  /** Stores a claim for all calls that wait, and a block. */
  async #enlargeClaim(): Promise<void> {
    const neededUsd = this.paidUsd + this.#waitingUsd;
    const blockUsd = Math.min(this.#capUsd * CLAIM_SHARE, Math.max(0, this.#capUsd - neededUsd));
    const claimUsd = Math.max(this.#claimUsd, neededUsd + blockUsd);
    this.#claimUsd = claimUsd;
    await this.#storeClaim();
    this.#storedUsd = claimUsd;
  }

  #buildRefusal(model: string, expectedUsd: number): AppError {
    const [cap, spent, next] = [this.#capUsd, this.#spentUsd, expectedUsd].map(showUsd);
    return new AppError(
      `the backfill may cost ${cap} USD: ${spent} USD are spent, and a call to ${model} is estimated at ${next} USD`,
      { code: 'budget_exhausted', stage: 'judge', retryable: true },
    );
  }
}
