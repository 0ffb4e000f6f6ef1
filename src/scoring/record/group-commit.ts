import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';

/** Most items of one write. Further items wait for the next write. */
const MAX_ITEMS = 5_000;

/** Waits between rounds: an insert costs the store the same for one row and for hundreds. */
export interface CommitPace {
  /** Shortest time from the start of a round to the next one, milliseconds. */
  readonly everyMs: number;
  /** The same time when `manyItems` wait for one table, or waited before the last round: the end of a burst waits no longer. */
  readonly busyEveryMs: number;
  readonly manyItems: number;
  /** Shortest time before each round, milliseconds: rows of traces that end together come one after the other. */
  readonly gatherMs: number;
}

export const NO_WAITS: CommitPace = {
  everyMs: 0,
  busyEveryMs: 0,
  manyItems: 1,
  gatherMs: 0,
};

interface Waiter<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Joins writes to one table at the same time into few large ones. */
export class GroupCommit<T> {
  readonly #insert: (items: readonly T[]) => Promise<void>;
  readonly #onAdded: () => void;
  readonly #slower: GroupCommit<T> | undefined;
  readonly #giveTurns: () => Promise<void>;
  readonly #waiting: Waiter<T>[] = [];
  #size = 0;

  /** @param giveTurns lets other work run between writers that go on */
  constructor(
    insert: (items: readonly T[]) => Promise<void>,
    { onAdded, giveTurns }: { readonly onAdded: () => void; readonly giveTurns: () => Promise<void> },
    slower?: GroupCommit<T>,
  ) {
    this.#insert = insert;
    this.#onAdded = onAdded;
    this.#giveTurns = giveTurns;
    this.#slower = slower;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns when the items are written, at once without items. Throws the error of the write. */
  async write(items: readonly T[]): Promise<void> {
    if (items.length > 0) {
      await new Promise<void>((done, failed) => {
        this.#waiting.push({ items, done, failed });
        this.#size += items.length;
        this.#onAdded();
      });
    }
  }

  /** Writes a group of the items. Never rejects. */
  async commit(): Promise<void> {
    const slower = this.#slower;
    await this.#writeGroup([...this.#take(), ...(slower === undefined ? [] : slower.#take())]);
  }

  #take(): Waiter<T>[] {
    let items = 0;
    const end = this.#waiting.findIndex((waiter, index) => {
      items += waiter.items.length;
      return index > 0 && items > MAX_ITEMS;
    });
    const group = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
    this.#size -= group.reduce((sum, waiter) => sum + waiter.items.length, 0);
    return group;
  }

  /** A group that the store refuses for good is written one call at a time, so that a bad row costs only its own call. */
  async #writeGroup(group: readonly Waiter<T>[]): Promise<void> {
    try {
      await this.#insert(group.flatMap((waiter) => waiter.items));
    } catch (error) {
      if (group.length > 1 && error instanceof AppError && !error.retryable) {
        for (const waiter of group) {
          await this.#writeGroup([waiter]);
        }
        return;
      }
      group.forEach((waiter) => waiter.failed(error));
      return;
    }
    // Hundreds that go on at once would keep the replies of judges waiting.
    for (const waiter of group) {
      waiter.done();
      await this.#giveTurns();
    }
  }
}

/**
 * Group commits of several tables. They write in rounds, so that rows that follow each other wait for one round only. Items that
 * come during a round, or during the wait before it, go together: one insert for many traces. Between two tables of a round,
 * writers get time to hand over the rows of the next table.
 */
export class CommitRounds {
  readonly #pace: CommitPace;
  readonly #giveTurns: () => Promise<void>;
  readonly #tables: Pick<GroupCommit<unknown>, 'size' | 'commit'>[] = [];
  #isRunning = false;
  #hurries = false;
  /** Start of the last round. */
  #roundAtMs = Number.NEGATIVE_INFINITY;
  #wasBusy = false;
  #gatheredAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #goOn: (() => void) | undefined;

  constructor(pace: CommitPace = NO_WAITS, giveTurns: () => Promise<void> = async () => undefined) {
    this.#pace = pace;
    this.#giveTurns = giveTurns;
  }

  /**
   * Adds a table. A round writes the tables in the order in which they were added.
   * @param slower the same table in slower rounds: each write of this table takes the items along that wait there
   */
  add<T>(insert: (items: readonly T[]) => Promise<void>, slower?: GroupCommit<T>): GroupCommit<T> {
    const onAdded = () => {
      this.#look();
      if (!this.#isRunning) {
        void this.#drain();
      }
    };
    const table = new GroupCommit(insert, { onAdded, giveTurns: this.#giveTurns }, slower);
    this.#tables.push(table);
    return table;
  }

  /** Ends the waits between rounds: the process stops. */
  hurry(): void {
    this.#hurries = true;
    this.#look();
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    while (this.#tables.some(({ size }) => size > 0)) {
      this.#gatheredAtMs = performance.now() + this.#pace.gatherMs;
      if (this.#waitingMs() > 0) {
        await new Promise<void>((resolve) => {
          this.#goOn = resolve;
          this.#look();
        });
      }
      this.#roundAtMs = performance.now();
      this.#wasBusy = this.#isBusy();
      for (const table of this.#tables) {
        if (table.size > 0) {
          await table.commit();
          await setImmediate();
        }
      }
    }
    this.#isRunning = false;
  }

  #isBusy(): boolean {
    return this.#tables.some(({ size }) => size >= this.#pace.manyItems);
  }

  /** Time until the next round. */
  #waitingMs(): number {
    const pauseMs = this.#wasBusy || this.#isBusy() ? this.#pace.busyEveryMs : this.#pace.everyMs;
    return this.#hurries ? 0 : Math.max(this.#gatheredAtMs, this.#roundAtMs + pauseMs) - performance.now();
  }

  /** Ends the wait when the next round is due: more rows wait. */
  #look(): void {
    clearTimeout(this.#timer);
    const leftMs = this.#waitingMs();
    if (this.#goOn !== undefined && leftMs > 0) {
      this.#timer = setTimeout(() => this.#look(), Math.ceil(leftMs));
    } else {
      this.#goOn?.();
      this.#goOn = undefined;
    }
  }
}
