import { type BudgetScope, computeNextBudgetDay } from '../../domain/money/budget.ts';
import type { SpendEntry } from '../../store/contracts/stores.ts';

/** Ids of entries. */
export interface EntryIds {
  /** Id of all entries of this process. */
  readonly leaseId: string;
  readonly newId: () => string;
}

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

  /** Takes the entries that are to be written. */
  takeEntries(nowMs: number): SpendEntry[] {
    const changes = this.#changeUsd === 0 ? [] : [this.buildLease(this.#changeUsd, nowMs)];
    this.#changeUsd = 0;
    return changes;
  }
}
