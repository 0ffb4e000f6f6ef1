import type { CallReservation } from '../../judge/judge-scope.ts';
import type { JudgeCallStore, SpendEntry, Spending } from '../../store/contracts/stores.ts';
import {
  buildExhaustedError,
  rejectAborted,
  type BudgetAsk,
  type BudgetReading,
  type PendingAsk,
} from './budget-ask.ts';
import { computeBudgetDay, computeNextBudgetDay } from './budget-day.ts';
import { BudgetPool } from './budget-pool.ts';
import { FirstCalls } from './first-calls.ts';
import type { LearnedCosts } from './learned-costs.ts';

export interface AccountTerms {
  /** Interval of the checks of a budget that is leased, but not spent, milliseconds. */
  readonly recheckMs: number;
  /** Longest wait of a call for money of other calls or processes, milliseconds. */
  readonly maxWaitMs: number;
  /** Time without a call after which the unused money goes back, milliseconds. */
  readonly idleMs: number;
  /** Delay of the write of costs, so that many go in one statement, milliseconds. */
  readonly writeDelayMs: number;
  readonly newId: () => string;
  /** Returns a number in [0, 1), so that processes do not check at the same times. */
  readonly random: () => number;
}

/** Longest time between two entries of a live process, milliseconds: longer than any scorer may run. */
export const OPEN_LEASE_MS = 10 * 60_000;

/** Largest block of a lease that no waiting call needs, as a part of the budget. */
const BLOCK_SHARE = 0.01;

/** Largest such block as a part of the remaining money, so that the last money is not idle in one process. */
const REST_SHARE = 1 / 16;

/** Largest rounding error of sums of decimal prices, USD. */
const ROUNDING_USD = 1e-9;

/** Wait before entries are written again after a failed write, milliseconds. */
const REWRITE_MS = 5_000;

/** Last total of the store, with the later changes of this process. */
interface KnownSpending extends Spending {
  readonly dayMs: number;
  readonly readAtMs: number;
}

/** Lease that is being written. */
interface PlannedLease {
  readonly usd: number;
  readonly entry: SpendEntry;
}

/**
 * Budget of one rule. The process leases a block of it: it writes the lease, then reads the total, and withdraws the part above the
 * budget. So of processes that lease at the same time all may be refused, but never more than the budget is accepted. Calls within
 * the block need no statement.
 */
export class BudgetAccount {
  readonly #rule: string;
  readonly #store: Pick<JudgeCallStore, 'readSpending' | 'spend'>;
  readonly #costs: LearnedCosts;
  readonly #terms: AccountTerms;
  #asks: PendingAsk[] = [];
  /** Requests that wait for calls under way or for money of other processes. */
  #waiting: PendingAsk[] = [];
  /** Entries of a failed write. A repeat has the same ids, so an entry that was written after all counts once. */
  #unsure: SpendEntry[] = [];
  /** Pool of the day last, after pools of earlier days with calls under way. */
  #pools: BudgetPool[] = [];
  readonly #firstCalls: FirstCalls;
  #known: KnownSpending | undefined;
  #capUsd = 0;
  #nowMs: () => number = () => 0;
  #mustWrite = false;
  #working: Promise<void> | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #writeTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(
    rule: string,
    store: Pick<JudgeCallStore, 'readSpending' | 'spend'>,
    costs: LearnedCosts,
    terms: AccountTerms,
  ) {
    this.#rule = rule;
    this.#store = store;
    this.#costs = costs;
    this.#firstCalls = new FirstCalls(costs);
    this.#terms = terms;
  }

  reserve(ask: BudgetAsk): Promise<CallReservation> {
    const { promise, resolve, reject } = Promise.withResolvers<CallReservation>();
    this.#capUsd = ask.perDayUsd;
    this.#nowMs = ask.nowMs;
    const pending = { ...ask, askedAtMs: ask.nowMs(), resolve, reject };
    if (this.#asks.length > 0 || !this.#serve(pending)) {
      this.#asks.push(pending);
      void this.#work();
    }
    return promise;
  }

  /** Writes the costs and gives back the money that no call reserves. Entries that the store does not take now are written later. */
  async giveBack(): Promise<void> {
    await this.#working;
    this.#pools.forEach((pool) => this.#release(pool));
    this.#mustWrite = true;
    await this.#work();
  }

  reading(): BudgetReading | undefined {
    if (this.#known === undefined) {
      return undefined;
    }
    const { bookedUsd, reservedUsd } = this.#known;
    return { rule: this.#rule, spentUsd: bookedUsd - reservedUsd, reservedUsd, capUsd: this.#capUsd };
  }

  /** Works until no request is left and all due entries are tried. Never throws: open requests get the error. */
  #work(): Promise<void> {
    this.#working ??= this.#rounds();
    return this.#working;
  }

  async #rounds(): Promise<void> {
    await Promise.resolve();
    while (this.#asks.length > 0 || this.#mustWrite) {
      try {
        await this.#round(this.#asks.splice(0));
      } catch {
        this.#writeIn(REWRITE_MS);
      }
    }
    // In the same turn as the last check, so that no request comes in between and waits for nobody.
    this.#working = undefined;
    this.#watchRest();
  }

  async #round(asks: readonly PendingAsk[]): Promise<void> {
    const open = asks.filter((ask) => !rejectAborted(ask) && !this.#serve(ask) && !this.#refuseEarly(ask));
    const planned = this.#affordable(open);
    const pool = this.#pools.at(-1);
    const lease = pool && this.#planLease(pool, planned);
    try {
      await this.#write(pool, lease);
      await (pool === undefined || open.length === 0 ? undefined : this.#read(pool, lease));
    } catch (error) {
      open.forEach((ask) => ask.reject(error));
      throw error;
    }
    for (const ask of open) {
      if (!this.#serve(ask)) {
        this.#reconsider(ask, planned.has(ask));
      }
    }
  }

  /** Reserves money of the pool for a request, without a statement. Returns false when the pool has too little. */
  #serve(ask: PendingAsk): boolean {
    const pool = this.#openPool(ask.nowMs());
    const usd = this.#expect(ask);
    if (usd > pool.freeUsd + ROUNDING_USD || !this.#mayStart(ask)) {
      return false;
    }
    const removeFirst = this.#firstCalls.add(ask.model, usd);
    pool.reserve(usd);
    ask.resolve({
      settle: (costUsd) => {
        removeFirst();
        this.#settle(pool, ask, { reservedUsd: usd, costUsd });
      },
    });
    return true;
  }

  /** Returns the pool of the day. After midnight the pool of the day before gives back its unused money. */
  #openPool(nowMs: number): BudgetPool {
    const current = this.#pools.at(-1);
    const dayMs = computeBudgetDay(nowMs);
    if (current !== undefined && current.dayMs >= dayMs) {
      return current;
    }
    if (current !== undefined) {
      this.#release(current);
    }
    const opened = new BudgetPool(this.#rule, dayMs, this.#terms.newId);
    this.#pools.push(opened);
    return opened;
  }

  /** Expected cost of a call. Never above the budget when the estimate is not, so that on each day one call may try. */
  #expect({ model, usd }: BudgetAsk): number {
    return Math.min(this.#costs.expect(model, usd), Math.max(usd, this.#capUsd));
  }

  #mayStart(ask: PendingAsk, firstCalls: FirstCalls = this.#firstCalls): boolean {
    return firstCalls.mayStart(ask.model, this.#expect(ask), this.#capUsd * BLOCK_SHARE);
  }

  /** Answers a request that needs no look at the store. Returns false for the others. */
  #refuseEarly(ask: PendingAsk): boolean {
    const known = this.#knownToday();
    const isFresh = known !== undefined && ask.nowMs() - known.readAtMs < this.#terms.recheckMs;
    const isSpent = isFresh && !this.#fits(ask, known.bookedUsd - known.reservedUsd);
    if (isSpent || !this.#mayStart(ask)) {
      this.#refuse(ask);
      return true;
    }
    return false;
  }

  /** Returns the requests that may fit by the last total. No money is leased for the others. */
  #affordable(asks: readonly PendingAsk[]): ReadonlySet<PendingAsk> {
    let bookedUsd = (this.#knownToday()?.bookedUsd ?? 0) - (this.#pools.at(-1)?.freeUsd ?? 0);
    const firstCalls = this.#firstCalls.copy();
    const affordable = asks.filter((ask) => {
      const usd = this.#expect(ask);
      const isAffordable = this.#fits(ask, bookedUsd) && this.#mayStart(ask, firstCalls);
      if (isAffordable) {
        bookedUsd += usd;
        firstCalls.add(ask.model, usd);
      }
      return isAffordable;
    });
    return new Set(affordable);
  }

  #planLease(pool: BudgetPool, asks: ReadonlySet<PendingAsk>): PlannedLease | undefined {
    if (asks.size === 0) {
      return undefined;
    }
    const neededUsd = [...asks].reduce((sum, ask) => sum + this.#expect(ask), -pool.freeUsd);
    const restUsd = Math.max(0, this.#capUsd - (this.#knownToday()?.bookedUsd ?? 0));
    const usd = Math.max(neededUsd, Math.min(this.#capUsd * BLOCK_SHARE, restUsd * REST_SHARE));
    return { usd, entry: pool.buildLease(usd, this.#nowMs()) };
  }

  async #write(pool: BudgetPool | undefined, lease: PlannedLease | undefined): Promise<void> {
    clearTimeout(this.#writeTimer);
    this.#writeTimer = undefined;
    this.#mustWrite = false;
    const nowMs = this.#nowMs();
    const changes = this.#pools.flatMap((each) => each.takeEntries(nowMs));
    const entries = [...this.#unsure.splice(0), ...changes, ...(lease === undefined ? [] : [lease.entry])];
    this.#pools = this.#pools.filter((each) => each === this.#pools.at(-1) || !each.isIdle);
    try {
      await (entries.length === 0 ? undefined : this.#store.spend(entries));
    } catch (error) {
      this.#unsure.unshift(...entries);
      pool?.add(0, lease?.usd ?? 0);
      throw error;
    }
  }

  /** Reads the total and takes the part of the lease that is within the budget. */
  async #read(pool: BudgetPool, lease: PlannedLease | undefined): Promise<void> {
    const { dayMs } = pool;
    const readAtMs = this.#nowMs();
    const leasedUsd = lease?.usd ?? 0;
    let acceptedUsd = 0;
    try {
      const openSinceMs = Math.max(dayMs, readAtMs - OPEN_LEASE_MS);
      const toMs = computeNextBudgetDay(dayMs);
      const spending = await this.#store.readSpending(this.#rule, { fromMs: dayMs, toMs, openSinceMs });
      this.#known = { ...spending, dayMs, readAtMs };
      const overUsd = spending.bookedUsd - this.#capUsd;
      acceptedUsd = overUsd > ROUNDING_USD ? Math.max(0, leasedUsd - overUsd) : leasedUsd;
    } finally {
      pool.add(acceptedUsd, leasedUsd);
    }
    this.#change(pool, acceptedUsd - leasedUsd, acceptedUsd - leasedUsd);
    if (pool !== this.#pools.at(-1)) {
      this.#release(pool);
    }
  }

  /** Decides on a request that the pool cannot serve after a look at the store. */
  #reconsider(ask: PendingAsk, wasPlanned: boolean): void {
    const known = this.#knownToday();
    const bookedUsd = (known?.bookedUsd ?? 0) - (this.#pools.at(-1)?.freeUsd ?? 0);
    const mayFit = !wasPlanned && this.#mayStart(ask) && this.#fits(ask, bookedUsd);
    if (known === undefined || mayFit) {
      this.#asks.push(ask);
    } else {
      this.#refuse(ask);
    }
  }

  /** Rejects a request when the money is spent. Lets it wait when calls under way or other processes may give money back. */
  #refuse(ask: PendingAsk): void {
    const isFirstCallOpen = !this.#mayStart(ask);
    const pool = this.#pools.at(-1);
    if (!isFirstCallOpen && pool !== undefined) {
      // Two processes with half of a call's money each would wait for each other.
      this.#release(pool);
      this.#mustWrite ||= pool.hasChanges;
    }
    const { bookedUsd, reservedUsd } = this.#knownToday() ?? { bookedUsd: 0, reservedUsd: 0 };
    const nowMs = ask.nowMs();
    const refusal = { ask, usd: this.#expect(ask), reading: this.reading(), isFirstCallOpen };
    if (!this.#fits(ask, bookedUsd - reservedUsd)) {
      const notBeforeMs = computeNextBudgetDay(nowMs);
      ask.reject(buildExhaustedError({ ...refusal, retryAfterMs: notBeforeMs - nowMs, notBeforeMs }));
    } else if (nowMs - ask.askedAtMs >= this.#terms.maxWaitMs) {
      ask.reject(buildExhaustedError({ ...refusal, retryAfterMs: this.#terms.maxWaitMs }));
    } else {
      this.#waiting.push(ask);
      this.#wakeTimer ??= setTimeout(
        () => this.#wake(),
        this.#terms.recheckMs * (0.5 + this.#terms.random()),
      );
    }
  }

  #settle(
    pool: BudgetPool,
    { model, usd, tenant, scoreId, nowMs }: PendingAsk,
    { reservedUsd, costUsd }: { reservedUsd: number; costUsd: number | undefined },
  ): void {
    if (costUsd !== 0) {
      this.#costs.observe(model, usd, costUsd);
    }
    const call = { tenant, scoreId, reservedUsd, costUsd: costUsd ?? reservedUsd, nowMs: nowMs() };
    const { bookedUsd, leasedUsd } = pool.settle(call);
    this.#change(pool, bookedUsd, leasedUsd);
    if (pool !== this.#pools.at(-1)) {
      this.#release(pool);
    }
    // A cost above the lease is written at once: until then other processes lease that money.
    this.#mustWrite ||= bookedUsd > ROUNDING_USD;
    this.#wake();
  }

  /** Gives back the money of a pool that no call reserves. */
  #release(pool: BudgetPool): void {
    if (pool.freeUsd > ROUNDING_USD) {
      const usd = pool.giveBack();
      this.#change(pool, -usd, -usd);
      this.#mustWrite = true;
    }
  }

  /** Applies changes of this process to the last total. */
  #change({ dayMs }: BudgetPool, bookedUsd: number, leasedUsd: number): void {
    const known = this.#known;
    if (known !== undefined && known.dayMs === dayMs) {
      this.#known = {
        ...known,
        bookedUsd: known.bookedUsd + bookedUsd,
        reservedUsd: Math.max(0, known.reservedUsd + leasedUsd),
      };
    }
  }

  #knownToday(): KnownSpending | undefined {
    return this.#known?.dayMs === this.#pools.at(-1)?.dayMs ? this.#known : undefined;
  }

  #fits(ask: PendingAsk, bookedUsd: number): boolean {
    return bookedUsd + this.#expect(ask) <= this.#capUsd + ROUNDING_USD;
  }

  #wake(): void {
    clearTimeout(this.#wakeTimer);
    this.#wakeTimer = undefined;
    this.#asks.push(...this.#waiting.splice(0));
    void this.#work();
  }

  #writeIn(ms: number): void {
    this.#writeTimer ??= setTimeout(() => {
      this.#mustWrite = true;
      void this.#work();
    }, ms).unref();
  }

  /** Starts the timers that write the costs, and that give back money that nobody uses. */
  #watchRest(): void {
    if (this.#unsure.length > 0 || this.#pools.some((pool) => pool.hasChanges)) {
      this.#writeIn(this.#terms.writeDelayMs);
    }
    clearTimeout(this.#idleTimer);
    const pool = this.#pools.at(-1);
    if (pool !== undefined && pool.isIdle && pool.freeUsd > ROUNDING_USD) {
      this.#idleTimer = setTimeout(() => this.#releaseIdle(pool), this.#terms.idleMs).unref();
    }
  }

  #releaseIdle(pool: BudgetPool): void {
    if (pool.isIdle) {
      this.#release(pool);
      void this.#work();
    }
  }
}
