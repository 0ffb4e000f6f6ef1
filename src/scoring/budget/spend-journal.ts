import { type BudgetScope, computeNextBudgetDay } from '../../domain/money/budget.ts';
import type { SpendEntry } from '../../store/contracts/stores.ts';
import type { JudgeCallStore } from '../../store/tables/judge-calls.ts';

/** Id of all entries of this process, and the source of ids of entries. */
type EntryIds = Pick<SpendEntry, 'leaseId'> & { readonly newId: () => string };

/** Returns the time of an entry: it belongs to the day of its reservation, also when the call ended after midnight. */
export function clampToDay(nowMs: number, dayMs: number): number {
  return Math.min(Math.max(nowMs, dayMs), computeNextBudgetDay(dayMs) - 1);
}

/**
 * Money of one budget and one UTC day that this process has leased. Calls reserve parts of it without a statement of the store.
 * Changes are collected, to be written together.
 */
export class BudgetPool {
  readonly dayMs: number;
  readonly #scope: BudgetScope;
  readonly #ids: EntryIds;
  /** Leased, and neither spent nor given back. Never less than the amount that calls under way reserve. */
  #heldUsd = 0;
  #reservedUsd = 0;
  #openCalls = 0;
  /** Change of the leased money that is in no entry yet. */
  #changeUsd = 0;

  constructor(scope: BudgetScope, dayMs: number, ids: EntryIds) {
    this.#scope = scope;
    this.dayMs = dayMs;
    this.#ids = ids;
  }

  /** Money for further calls, USD. */
  get freeUsd(): number {
    return this.#heldUsd - this.#reservedUsd;
  }

  get isIdle(): boolean {
    return this.#openCalls === 0;
  }

  /** Builds the entry of a lease. The money counts as leased only after `add`. */
  buildLease(usd: number, nowMs: number): SpendEntry {
    const { kind, name } = this.#scope;
    return {
      kind: 'lease',
      scope: kind === 'rule' ? '' : kind,
      rule: kind === 'rule' ? name : '',
      tenant: kind === 'tenant' ? name : '',
      scoreId: '',
      costUsd: usd,
      atMs: clampToDay(nowMs, this.dayMs),
      leaseId: this.#ids.leaseId,
      entryId: this.#ids.newId(),
    };
  }

  /** Adds the accepted part of a lease and withdraws the rest. */
  add(acceptedUsd: number, leasedUsd: number): void {
    this.#heldUsd += acceptedUsd;
    this.#changeUsd -= leasedUsd - acceptedUsd;
  }

  reserve(usd: number): void {
    this.#openCalls += 1;
    this.#reservedUsd += usd;
    this.#heldUsd = Math.max(this.#heldUsd, this.#reservedUsd);
  }

  /**
   * Takes the real cost of a call out of the leased money. A cost above the reservation is taken from the free money, and then added
   * to the leased money, so that other calls keep their reservations. Returns the changes of the booked and of the leased money, USD.
   */
  settle(reservedUsd: number, costUsd: number): { bookedUsd: number; leasedUsd: number } {
    this.#openCalls -= 1;
    this.#reservedUsd = this.#openCalls === 0 ? 0 : this.#reservedUsd - reservedUsd;
    const heldUsd = Math.max(this.#reservedUsd, this.#heldUsd - costUsd);
    const leasedUsd = heldUsd - this.#heldUsd;
    this.#heldUsd = heldUsd;
    this.#changeUsd += leasedUsd;
    return { bookedUsd: costUsd + leasedUsd, leasedUsd };
  }

  /** Gives back the free money. Returns the amount, USD. */
  giveBack(): number {
    const { freeUsd } = this;
    this.#heldUsd = this.#reservedUsd;
    this.#changeUsd -= freeUsd;
    return freeUsd;
  }

  takeEntries(nowMs: number): SpendEntry[] {
    const changes = this.#changeUsd === 0 ? [] : [this.buildLease(this.#changeUsd, nowMs)];
    this.#changeUsd = 0;
    return changes;
  }
}

/** Wait before entries are written again after a failed write, milliseconds. */
const REWRITE_MS = 5_000;

/**
 * Entries of this process that are not written yet. One call changes the leases of several budgets. All these changes and the cost of
 * the call go in one insert, so no reader sees a lease that has shrunk without the cost that it paid.
 */
export class SpendJournal {
  readonly #store: Pick<JudgeCallStore, 'spend'>;
  readonly #writeDelayMs: number;
  /** Each takes the entries of one budget that are to be written. */
  readonly #sources: (() => SpendEntry[])[] = [];
  readonly #writing = new Set<Promise<void>>();
  #calls: SpendEntry[] = [];
  /** Entries of a failed write. A repeat has the same ids, so an entry that was written after all counts once. */
  #unsure: SpendEntry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(store: Pick<JudgeCallStore, 'spend'>, writeDelayMs: number) {
    this.#store = store;
    this.#writeDelayMs = writeDelayMs;
  }

  addSource(takeEntries: () => SpendEntry[]): void {
    this.#sources.push(takeEntries);
  }

  /** Adds the cost of a call, to be written with the next entries. */
  addCall(entry: SpendEntry): void {
    this.#calls.push(entry);
  }

  /**
   * Writes all entries and a new lease in one insert, and waits for the inserts under way, so that a read finds all changes of this
   * process. Throws what the store throws; then the entries are written later.
   */
  async write(lease?: SpendEntry): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = [
      ...this.#unsure.splice(0),
      ...this.#calls.splice(0),
      ...this.#sources.flatMap((takeEntries) => takeEntries()),
      ...(lease === undefined ? [] : [lease]),
    ];
    if (entries.length > 0) {
      const writing = this.#insert(entries).finally(() => this.#writing.delete(writing));
      this.#writing.add(writing);
    }
    await Promise.all(this.#writing);
  }

  /** Writes the entries with those of the next moments. */
  writeSoon(): void {
    this.#writeIn(this.#writeDelayMs);
  }

  writeNow(): void {
    if (!this.#isDue) {
      this.#isDue = true;
      queueMicrotask(() => {
        this.#isDue = false;
        this.write().catch(() => undefined);
      });
    }
  }

  /** Writes everything. Entries that the store does not take now are written later. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#writing);
    await this.write().catch(() => undefined);
  }

  async #insert(entries: readonly SpendEntry[]): Promise<void> {
    try {
      await this.#store.spend(entries);
    } catch (error) {
      this.#unsure.unshift(...entries);
      this.#writeIn(REWRITE_MS);
      throw error;
    }
  }

  #writeIn(ms: number): void {
    this.#timer ??= setTimeout(() => void this.write().catch(() => undefined), ms).unref();
  }
}

/** Weight of a new cost in the averages. */
const WEIGHT = 0.2;

/** Deviations above the average that a call is expected to cost at most. */
const DEVIATIONS = 2;

/** First deviation of a model, as a part of its first cost. */
const FIRST_DEVIATION = 0.1;

/** Real cost divided by the estimate, as moving averages. */
interface CostRatio {
  readonly mean: number;
  readonly deviation: number;
}

/**
 * Real costs of the calls to each model, in relation to their estimates. A model that reasons costs more than the size of its
 * prompt shows.
 */
export class LearnedCosts {
  readonly #ratios = new Map<string, CostRatio>();

  /** Returns true when a call to the model has ended. */
  isKnown(model: string): boolean {
    return this.#ratios.has(model);
  }

  /** Returns the expected cost: the estimate, or more when earlier calls cost more than theirs. */
  expect(model: string, estimatedUsd: number): number {
    const { mean, deviation } = this.#ratios.get(model) ?? { mean: 1, deviation: 0 };
    return estimatedUsd * Math.max(1, mean + DEVIATIONS * deviation);
  }

  /** @param costUsd undefined when the provider did not send it */
  observe(model: string, estimatedUsd: number, costUsd: number | undefined): void {
    const known = this.#ratios.get(model);
    if (known === undefined) {
      const mean = (costUsd ?? estimatedUsd) / estimatedUsd;
      this.#ratios.set(model, { mean, deviation: costUsd === undefined ? 0 : mean * FIRST_DEVIATION });
    } else if (costUsd !== undefined) {
      const error = costUsd / estimatedUsd - known.mean;
      this.#ratios.set(model, {
        mean: known.mean + WEIGHT * error,
        deviation: known.deviation + WEIGHT * (Math.abs(error) - known.deviation),
      });
    }
  }
}
