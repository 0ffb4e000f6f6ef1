import type { JudgeCallStore, SpendEntry } from '../../store/contracts/stores.ts';

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

  /** Writes the entries of this turn. */
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
