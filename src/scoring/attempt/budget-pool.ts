import type { SpendEntry } from '../../store/contracts/stores.ts';
import { computeNextBudgetDay } from './budget-day.ts';

/** Facts of a call that ended. */
export interface SettledCall {
  readonly tenant: string;
  readonly scoreId: string;
  /** Amount that the call had reserved, USD. */
  readonly reservedUsd: number;
  readonly costUsd: number;
  readonly nowMs: number;
}

/**
 * Money of one rule and one UTC day that this process has leased. Calls reserve parts of it without a statement of the store.
 * Changes are collected as entries, to be written together.
 */
export class BudgetPool {
  readonly dayMs: number;
  readonly #rule: string;
  readonly #newId: () => string;
  readonly #leaseId: string;
  /** Leased, and neither spent nor given back. Never less than the amount that calls under way reserve. */
  #heldUsd = 0;
  #reservedUsd = 0;
  #openCalls = 0;
  /** Change of the leased money that is in no entry yet. */
  #changeUsd = 0;
  #calls: SpendEntry[] = [];

  constructor(rule: string, dayMs: number, newId: () => string) {
    this.#rule = rule;
    this.dayMs = dayMs;
    this.#newId = newId;
    this.#leaseId = newId();
  }

  /** Money for further calls, USD. */
  get freeUsd(): number {
    return this.#heldUsd - this.#reservedUsd;
  }

  get isIdle(): boolean {
    return this.#openCalls === 0;
  }

  get hasChanges(): boolean {
    return this.#calls.length > 0 || this.#changeUsd !== 0;
  }

  /** Builds the entry of a lease. The money counts as leased only after `add`. */
  buildLease(usd: number, nowMs: number): SpendEntry {
    return this.#buildEntry({ kind: 'lease', costUsd: usd, tenant: '', scoreId: '' }, nowMs);
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
   * Books the real cost of a call. A cost above the reservation is taken from the free money, and then added to the leased money,
   * so that other calls keep their reservations. Returns the changes of the booked and of the leased money, USD.
   */
  settle({ reservedUsd, costUsd, nowMs, tenant, scoreId }: SettledCall): {
    bookedUsd: number;
    leasedUsd: number;
  } {
    this.#openCalls -= 1;
    this.#reservedUsd = this.#openCalls === 0 ? 0 : this.#reservedUsd - reservedUsd;
    const heldUsd = Math.max(this.#reservedUsd, this.#heldUsd - costUsd);
    const leasedUsd = heldUsd - this.#heldUsd;
    this.#heldUsd = heldUsd;
    this.#changeUsd += leasedUsd;
    if (costUsd > 0) {
      this.#calls.push(this.#buildEntry({ kind: 'call', costUsd, tenant, scoreId }, nowMs));
    }
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
    return [...this.#calls.splice(0), ...changes];
  }

  /** An entry belongs to the day of the pool, also when the call ended after midnight. */
  #buildEntry(parts: Pick<SpendEntry, 'kind' | 'costUsd' | 'tenant' | 'scoreId'>, nowMs: number): SpendEntry {
    const atMs = Math.min(Math.max(nowMs, this.dayMs), computeNextBudgetDay(this.dayMs) - 1);
    return { ...parts, rule: this.#rule, atMs, leaseId: this.#leaseId, entryId: this.#newId() };
  }
}
