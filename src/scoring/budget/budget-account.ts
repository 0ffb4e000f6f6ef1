import { AppError } from '../../domain/errors.ts';
import {
  computeBudgetDay,
  computeNextBudgetDay,
  computeRenewal,
  listCaps,
  type BudgetCaps,
  type BudgetScope,
} from '../../domain/money/budget.ts';
import { ROUNDING_USD } from '../../domain/money/usd.ts';
import type { Spending } from '../../store/contracts/stores.ts';
import type { JudgeCallStore } from '../../store/tables/judge-calls.ts';
import {
  BLOCK_SHARE,
  buildExhaustedError,
  computeBudgetRest,
  computeFree,
  EarlierDays,
  OPEN_LEASE_MS,
  REST_SHARE,
  type AccountRequest,
  type BudgetReading,
  type BudgetRest,
} from './budget-request.ts';
import { BudgetPool, type LearnedCosts, type SpendJournal } from './spend-journal.ts';

/** Parts and times of a process that its budgets share. */
export interface AccountShares {
  readonly store: Pick<JudgeCallStore, 'readSpending'>;
  readonly journal: SpendJournal;
  readonly costs: LearnedCosts;
  /** Id of all entries of this process. */
  readonly leaseId: string;
  readonly newId: () => string;
  /** Interval of the checks of a budget that is leased, but not spent, milliseconds. */
  readonly recheckMs: number;
  /** Longest wait of a call for money of other calls or processes, milliseconds. */
  readonly maxWaitMs: number;
  /** Time without a call after which the unused money goes back, milliseconds. */
  readonly idleMs: number;
  /** Returns a number in [0, 1), so that processes do not check at the same times. */
  readonly random: () => number;
}

export interface AccountReservation {
  /** UTC day to which the money belongs, Unix milliseconds. */
  readonly dayMs: number;
  readonly usd: number;
  /** Books the cost: 0 when the call was not made. */
  settle(costUsd: number): void;
}

interface PendingRequest extends AccountRequest {
  readonly askedAtMs: number;
  readonly resolve: (reservation: AccountReservation) => void;
  readonly reject: (error: unknown) => void;
}

/** Last totals of the store, with the later changes of this process. */
interface KnownSpending extends Spending {
  readonly dayMs: number;
  readonly readAtMs: number;
  /** Spent on the earlier days of the month; 0 for a budget without a monthly limit. */
  readonly earlierUsd: number;
}

/**
 * Calls under way to models of which no call has ended, USD by model. Their real costs are not known, so only a part of a budget may
 * be under way for them.
 */
class FirstCalls {
  readonly #costs: LearnedCosts;
  readonly #openUsd: Map<string, number>;

  constructor(costs: LearnedCosts, openUsd: ReadonlyMap<string, number> = new Map()) {
    this.#costs = costs;
    this.#openUsd = new Map(openUsd);
  }

  /** Returns a copy, to plan with. */
  copy(): FirstCalls {
    return new FirstCalls(this.#costs, this.#openUsd);
  }

  /** Returns true for a model with known costs, for the only call under way, and for calls within the limit together. */
  mayStart(model: string, usd: number, limitUsd: number): boolean {
    const openUsd = this.#openUsd.get(model) ?? 0;
    return this.#costs.isKnown(model) || openUsd === 0 || openUsd + usd <= limitUsd + ROUNDING_USD;
  }

  /** Adds a call. Returns the function that removes it. */
  add(model: string, usd: number): () => void {
    if (this.#costs.isKnown(model)) {
      return () => undefined;
    }
    this.#change(model, usd);
    return () => this.#change(model, -usd);
  }

  #change(model: string, usd: number): void {
    const openUsd = (this.#openUsd.get(model) ?? 0) + usd;
    if (openUsd > ROUNDING_USD) {
      this.#openUsd.set(model, openUsd);
    } else {
      this.#openUsd.delete(model);
    }
  }
}

/**
 * Budget of one rule, of one tenant or of the installation. The process leases a block of it: it writes the lease, then reads the
 * total, and withdraws the part above the budget. So of processes that lease at the same time all may be refused, but never more than
 * the budget is accepted. Calls within the block need no statement. A lease belongs to a UTC day; the limit of a month leaves for a
 * day what the earlier days did not spend.
 */
export class BudgetAccount {
  readonly #scope: BudgetScope;
  readonly #shares: AccountShares;
  #requests: PendingRequest[] = [];
  /** Requests that wait for calls under way or for money of other processes. */
  #waiting: PendingRequest[] = [];
  /**
   * Time in which requests for money found none, and none was served. The limit of a wait is one for all requests of this time: behind
   * the lease of a killed process, each of them would hold its place for the whole wait.
   */
  #stuck: { readonly sinceMs: number; readonly lastMs: number } | undefined;
  /** Pool of the day last, after pools of earlier days with calls under way. */
  #pools: BudgetPool[] = [];
  readonly #firstCalls: FirstCalls;
  #known: KnownSpending | undefined;
  /** Expected cost of the cheapest call of a day that was refused because the money is spent. */
  #leastRefusal = { dayMs: 0, usd: 0 };
  readonly #earlier: EarlierDays<number>;
  #caps: BudgetCaps = {};
  #nowMs: () => number = () => 0;
  #working: Promise<void> | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(scope: BudgetScope, shares: AccountShares) {
    this.#scope = scope;
    this.#shares = shares;
    this.#firstCalls = new FirstCalls(shares.costs);
    const { store, journal } = shares;
    this.#earlier = new EarlierDays(async (range) => (await store.readSpending(scope, range)).bookedUsd, 0);
    journal.addSource(() => this.#takeEntries());
  }

  reserve(request: AccountRequest): Promise<AccountReservation> {
    const { promise, resolve, reject } = Promise.withResolvers<AccountReservation>();
    this.#caps = request.caps;
    this.#nowMs = request.nowMs;
    const pending = { ...request, askedAtMs: request.nowMs(), resolve, reject };
    if (this.#requests.length > 0 || !this.#serve(pending)) {
      this.#requests.push(pending);
      this.#work();
    }
    return promise;
  }

  /** Reads the totals, unless they were read a moment ago. Throws what the store throws. */
  async refresh(caps: BudgetCaps, nowMs: () => number): Promise<void> {
    await this.#working;
    this.#caps = caps;
    this.#nowMs = nowMs;
    const pool = this.#openPool(nowMs());
    if (nowMs() - (this.#knownToday()?.readAtMs ?? -Infinity) >= this.#shares.recheckMs) {
      await this.#read(pool, 0);
    }
  }

  /** Returns the money for further calls, by the last totals and refusals. */
  findRest(nowMs: number): BudgetRest {
    const dayMs = computeBudgetDay(nowMs);
    if (this.#known?.dayMs !== dayMs) {
      return { restUsd: Infinity, spent: undefined };
    }
    const leastUsd = this.#leastRefusal.dayMs === dayMs ? this.#leastRefusal.usd : 0;
    return computeBudgetRest(this.readings(), leastUsd, nowMs);
  }

  /** Gives back the money that no call reserves; the journal writes it. */
  async giveBack(): Promise<void> {
    await this.#working;
    this.#pools.forEach((pool) => this.#release(pool));
  }

  /** Returns the state of each cap by the last totals; nothing as long as nothing is known. */
  readings(known = this.#known): BudgetReading[] {
    return known === undefined ? [] : this.#listCaps(known);
  }

  #listCaps({
    bookedUsd,
    reservedUsd,
    earlierUsd,
  }: Omit<KnownSpending, 'dayMs' | 'readAtMs'>): BudgetReading[] {
    return listCaps({ scope: this.#scope, caps: this.#caps }).map((cap) => ({
      ...cap,
      spentUsd: bookedUsd - reservedUsd + (cap.period === 'month' ? earlierUsd : 0),
      reservedUsd,
    }));
  }

  /** Works until no request is left. Never throws: open requests get the error. */
  #work(): void {
    this.#working ??= this.#rounds();
  }

  async #rounds(): Promise<void> {
    await Promise.resolve();
    while (this.#requests.length > 0) {
      await this.#round(this.#requests.splice(0));
    }
    // In the same turn as the last check, so that no request comes in between and waits for nobody.
    this.#working = undefined;
    this.#watchRest();
  }

  async #round(requests: readonly PendingRequest[]): Promise<void> {
    const open = requests.filter(
      (request) => !rejectAborted(request) && !this.#serve(request) && !this.#refuseEarly(request),
    );
    const pool = this.#pools.at(-1);
    if (open.length === 0 || pool === undefined) {
      return;
    }
    const planned = this.#listAffordable(open);
    try {
      await this.#read(pool, await this.#lease(pool, planned));
    } catch (error) {
      open.forEach((request) => request.reject(error));
      return;
    }
    for (const request of open.filter((each) => !this.#serve(each))) {
      // A request that the pool cannot serve after a look at the store: one that was not planned may fit by now.
      const known = this.#knownToday();
      const mayFit =
        !planned.has(request) && this.#mayStart(request) && this.#fits(request, this.#bookedByOthers());
      if (known === undefined || mayFit) {
        this.#requests.push(request);
      } else {
        this.#refuse(request);
      }
    }
  }

  /** Reserves money of the pool for a request, without a statement. Returns false when the pool has too little. */
  #serve(request: PendingRequest): boolean {
    const pool = this.#openPool(request.nowMs());
    const usd = this.#expect(request);
    if (usd > pool.freeUsd + ROUNDING_USD || !this.#mayStart(request)) {
      return false;
    }
    const removeFirst = this.#firstCalls.add(request.model, usd);
    pool.reserve(usd);
    this.#stuck = undefined;
    request.resolve({
      dayMs: pool.dayMs,
      usd,
      settle: (costUsd) => {
        removeFirst();
        this.#settle(pool, usd, costUsd);
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
    const opened = new BudgetPool(this.#scope, dayMs, this.#shares);
    this.#pools.push(opened);
    return opened;
  }

  /** Smallest limit of the budget, USD. */
  #smallestCapUsd(): number {
    return Math.min(this.#caps.perDay ?? Infinity, this.#caps.perMonth ?? Infinity);
  }

  /** Money that the limits allow on a day, USD. */
  #limitUsd(earlierUsd = this.#knownToday()?.earlierUsd ?? 0): number {
    const { perDay = Infinity, perMonth = Infinity } = this.#caps;
    return Math.min(perDay, perMonth - earlierUsd);
  }

  /** Expected cost of a call. Never above the budget when the estimate is not, so that on each day one call may try. */
  #expect({ model, usd }: AccountRequest): number {
    return Math.min(this.#shares.costs.expect(model, usd), Math.max(usd, this.#smallestCapUsd()));
  }

  #mayStart(request: AccountRequest, firstCalls: FirstCalls = this.#firstCalls): boolean {
    return firstCalls.mayStart(request.model, this.#expect(request), this.#smallestCapUsd() * BLOCK_SHARE);
  }

  /** Answers a request that needs no look at the store. Returns false for the others. */
  #refuseEarly(request: PendingRequest): boolean {
    const known = this.#knownToday();
    const isFresh = known !== undefined && request.nowMs() - known.readAtMs < this.#shares.recheckMs;
    const isSpent = isFresh && !this.#fits(request, known.bookedUsd - known.reservedUsd);
    const isRefused = isSpent || !this.#mayStart(request);
    if (isRefused) {
      this.#refuse(request);
    }
    return isRefused;
  }

  /** Money that is booked by the last total, less the money for further calls of this process. */
  #bookedByOthers(): number {
    return (this.#knownToday()?.bookedUsd ?? 0) - (this.#pools.at(-1)?.freeUsd ?? 0);
  }

  /** Lists the requests that may fit by the last total. No money is leased for the others. */
  #listAffordable(requests: readonly PendingRequest[]): ReadonlySet<PendingRequest> {
    let bookedUsd = this.#bookedByOthers();
    const firstCalls = this.#firstCalls.copy();
    const affordable = requests.filter((request) => {
      const usd = this.#expect(request);
      const isAffordable = this.#fits(request, bookedUsd) && this.#mayStart(request, firstCalls);
      if (isAffordable) {
        bookedUsd += usd;
        firstCalls.add(request.model, usd);
      }
      return isAffordable;
    });
    return new Set(affordable);
  }

  /** Leases money for the requests, and up to a block more. Returns the leased amount, USD. */
  async #lease(pool: BudgetPool, requests: ReadonlySet<PendingRequest>): Promise<number> {
    if (requests.size === 0) {
      await this.#shares.journal.write();
      return 0;
    }
    const neededUsd = [...requests].reduce((sum, request) => sum + this.#expect(request), -pool.freeUsd);
    const restUsd = Math.max(0, this.#limitUsd() - (this.#knownToday()?.bookedUsd ?? 0));
    const usd = Math.max(neededUsd, Math.min(this.#smallestCapUsd() * BLOCK_SHARE, restUsd * REST_SHARE));
    try {
      await this.#shares.journal.write(pool.buildLease(usd, this.#nowMs()));
    } catch (error) {
      pool.add(0, usd);
      throw error;
    }
    return usd;
  }

  /** Takes the changes of the leased money that are to be written, and closes the pools of earlier days. */
  #takeEntries(): ReturnType<BudgetPool['takeEntries']> {
    const nowMs = this.#nowMs();
    const entries = this.#pools.flatMap((pool) => pool.takeEntries(nowMs));
    // A lease for an earlier day may be under way.
    const isLeasing = this.#working !== undefined;
    this.#pools = this.#pools.filter((pool) => pool === this.#pools.at(-1) || !pool.isIdle || isLeasing);
    return entries;
  }

  /** Reads the totals and takes the part of the lease that is within the budget. */
  async #read(pool: BudgetPool, leasedUsd: number): Promise<void> {
    const { dayMs } = pool;
    const readAtMs = this.#nowMs();
    let acceptedUsd = 0;
    try {
      const openSinceMs = Math.max(dayMs, readAtMs - OPEN_LEASE_MS);
      const range = { fromMs: dayMs, toMs: computeNextBudgetDay(dayMs), openSinceMs };
      const [spending, earlierUsd] = await Promise.all([
        this.#shares.store.readSpending(this.#scope, range),
        this.#caps.perMonth === undefined ? 0 : this.#earlier.read(dayMs, readAtMs),
      ]);
      this.#known = { ...spending, earlierUsd, dayMs, readAtMs };
      const overUsd = spending.bookedUsd - this.#limitUsd(earlierUsd);
      acceptedUsd = overUsd > ROUNDING_USD ? Math.max(0, leasedUsd - overUsd) : leasedUsd;
    } finally {
      pool.add(acceptedUsd, leasedUsd);
    }
    if (acceptedUsd < leasedUsd) {
      this.#change(pool, acceptedUsd - leasedUsd, acceptedUsd - leasedUsd);
      this.#shares.journal.writeSoon();
    }
    if (pool !== this.#pools.at(-1)) {
      this.#release(pool);
    }
  }

  /** Rejects a request when the money is spent. Lets it wait when calls under way or other processes may give money back. */
  #refuse(request: PendingRequest): void {
    const { maxWaitMs, recheckMs, random } = this.#shares;
    const isFirstCallOpen = !this.#mayStart(request);
    const pool = this.#pools.at(-1);
    if (!isFirstCallOpen && pool !== undefined) {
      // Two processes with half of a call's money each would wait for each other.
      this.#release(pool);
    }
    const [nowMs, usd] = [request.nowMs(), this.#expect(request)];
    // Nothing is spent as long as nothing is known.
    const caps = this.#listCaps(this.#knownToday() ?? { bookedUsd: 0, reservedUsd: 0, earlierUsd: 0 });
    const spent = caps.findLast(({ spentUsd, capUsd }) => spentUsd + usd > capUsd + ROUNDING_USD);
    const refusal = { request, usd, isFirstCallOpen };
    if (spent !== undefined) {
      const notBeforeMs = computeRenewal(spent.period, nowMs);
      const dayMs = computeBudgetDay(nowMs);
      const leastUsd = this.#leastRefusal.dayMs === dayMs ? this.#leastRefusal.usd : Infinity;
      this.#leastRefusal = { dayMs, usd: Math.min(usd, leastUsd) };
      request.reject(
        buildExhaustedError({ ...refusal, reading: spent, retryAfterMs: notBeforeMs - nowMs, notBeforeMs }),
      );
    } else if (
      nowMs - (isFirstCallOpen ? request.askedAtMs : this.#noteStuck(request.askedAtMs, nowMs)) >=
      maxWaitMs
    ) {
      const reading = caps.reduce((one, other) => (computeFree(other) < computeFree(one) ? other : one));
      request.reject(buildExhaustedError({ ...refusal, reading, retryAfterMs: maxWaitMs }));
    } else {
      this.#waiting.push(request);
      this.#wakeTimer ??= setTimeout(() => this.#wake(), recheckMs * (0.5 + random()));
    }
  }

  /** Notes that a request found no money. Returns the time since which requests wait without success, Unix milliseconds. */
  #noteStuck(askedAtMs: number, nowMs: number): number {
    const stuck = this.#stuck;
    const isRecent = stuck !== undefined && askedAtMs - stuck.lastMs <= this.#shares.maxWaitMs;
    const sinceMs = isRecent ? Math.min(stuck.sinceMs, askedAtMs) : askedAtMs;
    this.#stuck = { sinceMs, lastMs: nowMs };
    return sinceMs;
  }

  #settle(pool: BudgetPool, reservedUsd: number, costUsd: number): void {
    const { bookedUsd, leasedUsd } = pool.settle(reservedUsd, costUsd);
    this.#change(pool, bookedUsd, leasedUsd);
    if (pool !== this.#pools.at(-1)) {
      this.#release(pool);
    }
    // A cost above the lease is written at once: until then other processes lease that money.
    if (bookedUsd > ROUNDING_USD) {
      this.#shares.journal.writeNow();
    }
    this.#wake();
  }

  /** Gives back the money of a pool that no call reserves. */
  #release(pool: BudgetPool): void {
    if (pool.freeUsd > ROUNDING_USD) {
      const usd = pool.giveBack();
      this.#change(pool, -usd, -usd);
      this.#shares.journal.writeNow();
    }
  }

  /** Applies changes of this process to the last total. */
  #change({ dayMs }: BudgetPool, bookedUsd: number, leasedUsd: number): void {
    const known = this.#known;
    if (known?.dayMs === dayMs) {
      const reservedUsd = Math.max(0, known.reservedUsd + leasedUsd);
      this.#known = { ...known, bookedUsd: known.bookedUsd + bookedUsd, reservedUsd };
    }
  }

  #knownToday(): KnownSpending | undefined {
    return this.#known?.dayMs === this.#pools.at(-1)?.dayMs ? this.#known : undefined;
  }

  #fits(request: AccountRequest, bookedUsd: number): boolean {
    return bookedUsd + this.#expect(request) <= this.#limitUsd() + ROUNDING_USD;
  }

  #wake(): void {
    clearTimeout(this.#wakeTimer);
    this.#wakeTimer = undefined;
    this.#requests.push(...this.#waiting.splice(0));
    this.#work();
  }

  /** Starts the timer that gives back money that nobody uses. */
  #watchRest(): void {
    clearTimeout(this.#idleTimer);
    const pool = this.#pools.at(-1);
    if (pool !== undefined && pool.isIdle && pool.freeUsd > ROUNDING_USD) {
      this.#idleTimer = setTimeout(() => {
        if (pool.isIdle) {
          this.#release(pool);
        }
      }, this.#shares.idleMs).unref();
    }
  }
}

/** Rejects a request whose caller has stopped waiting. Returns true for such a request. */
function rejectAborted(request: PendingRequest): boolean {
  const isAborted = request.signal?.aborted === true;
  if (isAborted) {
    const options = { code: 'cancelled', stage: 'judge', retryable: true } as const;
    request.reject(new AppError('the call was cancelled while it waited for money of its budget', options));
  }
  return isAborted;
}
