import { AppError } from '../../domain/errors.ts';
import { showUsd } from '../../domain/usd.ts';
import type { CallReservation } from '../../judge/judge-scope.ts';
import type { JudgeCallStore, SpendEntry, Spending } from '../../store/contracts/stores.ts';
import { computeBudgetDay, computeNextBudgetDay } from './budget-day.ts';

/** Request for money for one judge call. */
export interface BudgetAsk {
  readonly rule: string;
  /** Budget of the rule, USD per UTC day. */
  readonly perDayUsd: number;
  readonly scoreId: string;
  /** `provider/model`, for messages. */
  readonly model: string;
  /** Estimated cost, USD. */
  readonly usd: number;
  /** Reads the store's clock, Unix milliseconds. */
  readonly nowMs: () => number;
  readonly signal?: AbortSignal | undefined;
}

/** State of a budget, USD. */
export interface BudgetReading {
  readonly rule: string;
  readonly spentUsd: number;
  readonly reservedUsd: number;
  readonly capUsd: number;
}

interface AccountTerms {
  readonly recheckMs: number;
  readonly maxWaitMs: number;
  readonly newCallId: () => string;
}

/** Longest time between the reservation and the settlement of a call, milliseconds: longer than any scorer may run. */
export const OPEN_CALL_MS = 10 * 60_000;

/** Request that has no answer yet. */
interface PendingAsk extends BudgetAsk {
  readonly askedAtMs: number;
  readonly resolve: (reservation: CallReservation) => void;
  readonly reject: (error: unknown) => void;
}

/** Request whose reservation is being written. */
interface Booking {
  readonly ask: PendingAsk;
  readonly entry: SpendEntry;
}

/** Settlement to write. */
interface Settlement {
  readonly entry: SpendEntry;
  /** Called after the first attempt to write it. */
  readonly tried: () => void;
}

/** Largest rounding error of sums of decimal prices, USD. */
const ROUNDING_USD = 1e-9;

/** Wait before settlements are written again after a failed write, milliseconds. */
const REWRITE_MS = 5_000;

/**
 * Budget of one rule. Every reservation is written before the total is read, and withdrawn when the total is above the budget. So
 * of processes that ask at the same time all may be refused, but never more than the budget is accepted. Requests and
 * settlements that come during a statement of the store go with the next statement.
 */
export class BudgetAccount {
  readonly #rule: string;
  readonly #store: Pick<JudgeCallStore, 'readSpending' | 'spend'>;
  readonly #terms: AccountTerms;
  #asks: PendingAsk[] = [];
  /** Requests that wait for the settlements of calls under way. */
  #waiting: PendingAsk[] = [];
  #due: Settlement[] = [];
  readonly #untried = new Set<Promise<void>>();
  #working: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #known: (Spending & { readonly day: number }) | undefined;
  #capUsd = 0;

  constructor(rule: string, store: Pick<JudgeCallStore, 'readSpending' | 'spend'>, terms: AccountTerms) {
    this.#rule = rule;
    this.#store = store;
    this.#terms = terms;
  }

  reserve(ask: BudgetAsk): Promise<CallReservation> {
    const { promise, resolve, reject } = Promise.withResolvers<CallReservation>();
    this.#capUsd = ask.perDayUsd;
    this.#asks.push({ ...ask, askedAtMs: ask.nowMs(), resolve, reject });
    void this.#work();
    return promise;
  }

  async flush(): Promise<void> {
    void this.#work();
    await Promise.all(this.#untried);
  }

  reading(): BudgetReading | undefined {
    if (this.#known === undefined) {
      return undefined;
    }
    const { bookedUsd, reservedUsd } = this.#known;
    return { rule: this.#rule, spentUsd: bookedUsd - reservedUsd, reservedUsd, capUsd: this.#capUsd };
  }

  /** Works until no request and no settlement is left. Never throws: requests get the error; settlements are written later. */
  #work(): Promise<void> {
    this.#working ??= this.#rounds().finally(() => (this.#working = undefined));
    return this.#working;
  }

  async #rounds(): Promise<void> {
    await Promise.resolve();
    while (this.#asks.length + this.#due.length > 0) {
      const asks = this.#asks.splice(0);
      try {
        await this.#round(asks);
      } catch (error) {
        asks.forEach((ask) => ask.reject(error));
        this.#wakeIn(REWRITE_MS);
        return;
      }
    }
  }

  async #round(asks: readonly PendingAsk[]): Promise<void> {
    const open = asks.filter((ask) => !isAborted(ask));
    const bookings = this.#affordable(open).map((ask): Booking => ({
      ask,
      entry: this.#buildReservation(ask),
    }));
    const settled = this.#due.splice(0);
    const entries = [...settled, ...bookings].map(({ entry }) => entry);
    try {
      await (entries.length === 0 ? undefined : this.#store.spend(entries));
    } catch (error) {
      this.#due.unshift(...settled);
      throw error;
    } finally {
      settled.forEach(({ tried }) => tried());
    }
    const nowMs = open.at(-1)?.nowMs();
    if (nowMs === undefined) {
      return;
    }
    try {
      await this.#read(nowMs);
    } catch (error) {
      bookings.forEach(({ entry }) => this.#book(entry, 0));
      throw error;
    }
    this.#admit(bookings);
    const booked = new Set(bookings.map(({ ask }) => ask));
    for (const ask of open) {
      if (!booked.has(ask)) {
        this.#reconsider(ask);
      }
    }
  }

  async #read(nowMs: number): Promise<void> {
    const day = computeBudgetDay(nowMs);
    this.#known = {
      ...(await this.#store.readSpending(this.#rule, day, Math.max(day, nowMs - OPEN_CALL_MS))),
      day,
    };
  }

  /** Returns the requests that may fit by the last total. Nothing is written for the others. */
  #affordable(asks: readonly PendingAsk[]): PendingAsk[] {
    let bookedUsd = this.#known?.bookedUsd ?? 0;
    return asks.filter((ask) => {
      const isStale = this.#known?.day !== computeBudgetDay(ask.nowMs());
      const fits = isStale || fitsBudget(bookedUsd, ask);
      bookedUsd += fits ? ask.usd : 0;
      return fits;
    });
  }

  /** Accepts the reservations within the budget, in the order of the requests, and withdraws the others. */
  #admit(bookings: readonly Booking[]): void {
    let bookedUsd = this.#bookedUsd() - sumAmounts(bookings);
    for (const { ask, entry } of bookings) {
      if (fitsBudget(bookedUsd, ask)) {
        bookedUsd += ask.usd;
        ask.resolve({ settle: (costUsd) => this.#settle(entry, costUsd) });
      } else {
        this.#book(entry, 0);
        this.#refuse(ask);
      }
    }
  }

  #reconsider(ask: PendingAsk): void {
    if (fitsBudget(this.#bookedUsd(), ask)) {
      this.#asks.push(ask);
    } else {
      this.#refuse(ask);
    }
  }

  /** Rejects a request when the money is spent. Lets it wait when calls under way may give money back. */
  #refuse(ask: PendingAsk): void {
    const { bookedUsd, reservedUsd } = this.#known ?? { bookedUsd: 0, reservedUsd: 0 };
    const nowMs = ask.nowMs();
    if (!fitsBudget(bookedUsd - reservedUsd, ask)) {
      const dayMs = computeNextBudgetDay(nowMs);
      ask.reject(this.#exhausted(ask, dayMs - nowMs, dayMs));
    } else if (nowMs - ask.askedAtMs >= this.#terms.maxWaitMs) {
      ask.reject(this.#exhausted(ask, this.#terms.maxWaitMs));
    } else {
      this.#waiting.push(ask);
      this.#wakeIn(this.#terms.recheckMs);
    }
  }

  #settle(entry: SpendEntry, costUsd: number): void {
    this.#book(entry, costUsd);
    this.#wake();
  }

  #book(entry: SpendEntry, costUsd: number): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const untried = promise.then(() => void this.#untried.delete(untried));
    this.#untried.add(untried);
    this.#due.push({ entry: buildSettlement(entry, costUsd), tried: resolve });
    if (this.#known !== undefined && this.#known.day === computeBudgetDay(entry.atMs)) {
      const { bookedUsd, reservedUsd, day } = this.#known;
      this.#known = {
        day,
        bookedUsd: bookedUsd + costUsd - entry.costUsd,
        reservedUsd: Math.max(0, reservedUsd - entry.costUsd),
      };
    }
  }

  #wake(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#asks.push(...this.#waiting.splice(0));
    void this.#work();
  }

  #wakeIn(ms: number): void {
    this.#timer ??= setTimeout(() => this.#wake(), ms);
    // The timer keeps the process alive for a waiting request, but not for a settlement.
    if (this.#waiting.length === 0) {
      this.#timer.unref();
    } else {
      this.#timer.ref();
    }
  }

  #bookedUsd(): number {
    return this.#known?.bookedUsd ?? 0;
  }

  #buildReservation(ask: PendingAsk): SpendEntry {
    return {
      rule: this.#rule,
      costUsd: ask.usd,
      atMs: ask.nowMs(),
      scoreId: ask.scoreId,
      callId: this.#terms.newCallId(),
    };
  }

  #exhausted(ask: PendingAsk, retryAfterMs: number, notBeforeMs?: number): AppError {
    const { spentUsd, reservedUsd } = this.reading() ?? { spentUsd: 0, reservedUsd: 0 };
    const cap = `${showUsd(ask.perDayUsd)} USD a UTC day`;
    return new AppError(
      `a call to ${ask.model} is estimated at ${showUsd(ask.usd)} USD; of rule ${this.#rule}'s budget of ${cap}, ${showUsd(spentUsd)} USD are spent and ${showUsd(reservedUsd)} USD reserved by calls under way`,
      {
        code: 'budget_exhausted',
        stage: 'judge',
        retryable: true,
        retryAfterMs,
        details: { rule: this.#rule, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) },
      },
    );
  }
}

function isAborted(ask: PendingAsk): boolean {
  if (ask.signal?.aborted !== true) {
    return false;
  }
  const options = { code: 'cancelled', stage: 'judge', retryable: true } as const;
  ask.reject(new AppError('the call was cancelled while it waited for money of its budget', options));
  return true;
}

function fitsBudget(bookedUsd: number, ask: PendingAsk): boolean {
  return bookedUsd + ask.usd <= ask.perDayUsd + ROUNDING_USD;
}

function sumAmounts(bookings: readonly Booking[]): number {
  return bookings.reduce((sum, { ask }) => sum + ask.usd, 0);
}

/**
 * Builds the settlement of a reservation: on the same day, but never at the same time, because the store drops an entry that is
 * equal to an earlier one as a repeated insert.
 */
function buildSettlement(reservation: SpendEntry, costUsd: number): SpendEntry {
  const { atMs } = reservation;
  return {
    ...reservation,
    costUsd: costUsd - reservation.costUsd,
    atMs: atMs + 1 < computeNextBudgetDay(atMs) ? atMs + 1 : atMs - 1,
  };
}
