import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';

/** Most items of one write. Further items wait for the next write. */
const MAX_ITEMS = 5_000;

/** Joins writes to one table at the same time into few large ones. */
export interface GroupCommit<T> {
  /** Returns when the items are written, at once without items. Throws the error of the write. */
  write(items: readonly T[]): Promise<void>;
}

/** Group commits of several tables. They write in rounds, so that rows that follow each other wait for one round only. */
export interface CommitRounds {
  /** Adds a table. A round writes the tables in the order in which they were added. */
  add<T>(write: (items: readonly T[]) => Promise<void>, options?: LaneOptions): GroupCommit<T>;
  /** Ends the waits between rounds: the process stops. */
  hurry(): void;
}

interface LaneOptions {
  /** True: items of this table wait a shorter time. Such a round leaves the items of the other tables waiting. */
  readonly isUrgent?: boolean;
}

/** Waits between rounds: an insert costs the store the same for one row and for hundreds. */
export interface CommitPace {
  /** Shortest time from the start of a round to the next one, milliseconds. */
  readonly everyMs: number;
  /** The same time for urgent items, from the start of any round. */
  readonly urgentEveryMs: number;
  /** The same time when `manyItems` wait for one table, or waited before the last round: the end of a burst waits no longer. */
  readonly busyEveryMs: number;
  readonly manyItems: number;
  /** Shortest time before each round, milliseconds: rows of traces that end together come one after the other. */
  readonly gatherMs: number;
}

const AT_ONCE: CommitPace = { everyMs: 0, urgentEveryMs: 0, busyEveryMs: 0, manyItems: 1, gatherMs: 0 };

interface Waiter<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** The items that wait for one table. */
interface Lane {
  readonly isUrgent: boolean;
  isEmpty(): boolean;
  countItems(): number;
  /** Writes a group of the items. Never rejects. */
  commit(): Promise<void>;
}

/**
 * Creates the rounds of some tables. Items that come during a round, or during the wait before it, go together: one insert for many
 * traces. Between two tables of a round, writers get time to hand over the rows of the next table.
 * @param pace default: without waits
 */
export function createCommitRounds(pace: CommitPace = AT_ONCE): CommitRounds {
  const lanes: Lane[] = [];
  const pacer = createPacer(pace, {
    countMost: () => Math.max(...lanes.map((lane) => lane.countItems())),
    hasUrgent: () => lanes.some((lane) => lane.isUrgent && !lane.isEmpty()),
  });
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (lanes.some((lane) => !lane.isEmpty())) {
      const wait = pacer.waitUntilDue();
      if (wait !== undefined) {
        await wait;
      }
      const isWhole = pacer.begin();
      for (const lane of lanes) {
        if ((isWhole || lane.isUrgent) && !lane.isEmpty()) {
          await lane.commit();
          await setImmediate();
        }
      }
    }
    running = false;
  }

  return {
    add(write, { isUrgent = false } = {}) {
      const { lane, commit } = createLane(write, () => {
        pacer.look();
        if (!running) {
          void drain();
        }
      });
      lanes.push({ ...lane, isUrgent });
      return commit;
    },
    hurry: () => pacer.hurry(),
  };
}

/**
 * Creates the items of one table. A group that the store refuses for good is written one call at a time, so that a bad row costs
 * only its own call.
 */
function createLane<T>(
  write: (items: readonly T[]) => Promise<void>,
  onAdded: () => void,
): { lane: Omit<Lane, 'isUrgent'>; commit: GroupCommit<T> } {
  const waiting: Waiter<T>[] = [];

  async function writeGroup(group: readonly Waiter<T>[]): Promise<void> {
    try {
      await write(group.flatMap((waiter) => waiter.items));
    } catch (error) {
      if (group.length > 1 && error instanceof AppError && !error.retryable) {
        for (const waiter of group) {
          await writeGroup([waiter]);
        }
        return;
      }
      group.forEach((waiter) => waiter.failed(error));
      return;
    }
    group.forEach((waiter) => waiter.done());
  }

  return {
    lane: {
      isEmpty: () => waiting.length === 0,
      countItems: () => countItems(waiting),
      commit: () => writeGroup(takeGroup(waiting)),
    },
    commit: {
      async write(items) {
        if (items.length > 0) {
          await new Promise<void>((done, failed) => {
            waiting.push({ items, done, failed });
            onAdded();
          });
        }
      },
    },
  };
}

/** Times of the rounds. */
interface Pacer {
  /** Ends the wait when the next round is due: more items wait. */
  look(): void;
  /** Waits until the next round is due; undefined when it is due now. */
  waitUntilDue(): Promise<void> | undefined;
  /** Begins a round. Returns false for one of urgent items only. */
  begin(): boolean;
  hurry(): void;
}

/** Rows that wait. */
interface WaitingRows {
  /** Counts the items that wait for the table with the most. */
  readonly countMost: () => number;
  readonly hasUrgent: () => boolean;
}

function createPacer(pace: CommitPace, { countMost, hasUrgent }: WaitingRows): Pacer {
  let hurries = false;
  /** Start of the last round, and of the last one of all tables. */
  let begunAtMs = Number.NEGATIVE_INFINITY;
  let wholeAtMs = Number.NEGATIVE_INFINITY;
  let wasBusy = false;
  let gatheredAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let goOn: (() => void) | undefined;

  const isBusy = () => countMost() >= pace.manyItems;

  /** Time until the next round of all tables. */
  function readWholeLeftMs(): number {
    const pauseMs = wasBusy || isBusy() ? pace.busyEveryMs : pace.everyMs;
    return hurries ? 0 : Math.max(gatheredAtMs, wholeAtMs + pauseMs) - performance.now();
  }

  function readLeftMs(): number {
    const urgentAtMs = hasUrgent() ? Math.max(gatheredAtMs, begunAtMs + pace.urgentEveryMs) : Infinity;
    return Math.min(readWholeLeftMs(), urgentAtMs - performance.now());
  }

  function look(): void {
    clearTimeout(timer);
    const leftMs = readLeftMs();
    if (goOn !== undefined && leftMs > 0) {
      timer = setTimeout(look, Math.ceil(leftMs));
    } else {
      goOn?.();
      goOn = undefined;
    }
  }

  return {
    look,
    waitUntilDue() {
      gatheredAtMs = performance.now() + pace.gatherMs;
      if (readLeftMs() <= 0) {
        return undefined;
      }
      return new Promise((resolve) => {
        goOn = resolve;
        look();
      });
    },
    begin() {
      const isWhole = readWholeLeftMs() <= 0;
      begunAtMs = performance.now();
      if (isWhole) {
        wholeAtMs = begunAtMs;
        wasBusy = isBusy();
      }
      return isWhole;
    },
    hurry() {
      hurries = true;
      look();
    },
  };
}

function countItems(group: readonly Waiter<unknown>[]): number {
  return group.reduce((sum, { items }) => sum + items.length, 0);
}

function takeGroup<T>(waiting: Waiter<T>[]): Waiter<T>[] {
  let items = 0;
  let count = 0;
  for (const waiter of waiting) {
    items += waiter.items.length;
    if (count > 0 && items > MAX_ITEMS) {
      break;
    }
    count += 1;
  }
  return waiting.splice(0, count);
}
