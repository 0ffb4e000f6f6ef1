import { AppError } from '../../domain/errors.ts';

/** Most items of one write. Further items wait for the next write. */
const MAX_ITEMS = 5_000;

/** Joins writes at the same time into few large ones. */
export interface GroupCommit<T> {
  /** Returns when the items are written, at once without items. Throws the error of the write. */
  write(items: readonly T[]): Promise<void>;
  /** Ends the waits between writes: the process stops. */
  hurry(): void;
}

/** Waits between the writes of a group commit: an insert costs the store the same for one row and for hundreds. */
export interface CommitPace {
  /** Shortest time from the start of a write to the next one, milliseconds. */
  readonly everyMs: number;
  /** The same time when `manyItems` wait. */
  readonly busyEveryMs: number;
  readonly manyItems: number;
  /** Shortest time before each write, milliseconds: rows of traces that end together come one after the other. */
  readonly gatherMs: number;
}

const AT_ONCE: CommitPace = { everyMs: 0, busyEveryMs: 0, manyItems: 1, gatherMs: 0 };

interface Waiter<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Creates a group commit. Items that come during a write, or during the wait before it, go together: one insert for many traces.
 * A group that the store refuses for good is written one call at a time, so that a bad row costs only its own call.
 * @param pace default: without waits
 */
export function createGroupCommit<T>(
  write: (items: readonly T[]) => Promise<void>,
  pace: CommitPace = AT_ONCE,
): GroupCommit<T> {
  const waiting: Waiter<T>[] = [];
  const pacer = createPacer(pace);
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      const wait = pacer.waitUntilDue();
      if (wait !== undefined) {
        await wait;
      }
      const group = takeGroup(waiting);
      pacer.begin(countItems(group));
      await commit(group);
    }
    running = false;
  }

  async function commit(group: readonly Waiter<T>[]): Promise<void> {
    try {
      await write(group.flatMap((waiter) => waiter.items));
    } catch (error) {
      if (group.length > 1 && error instanceof AppError && !error.retryable) {
        for (const waiter of group) {
          await commit([waiter]);
        }
        return;
      }
      group.forEach((waiter) => waiter.failed(error));
      return;
    }
    group.forEach((waiter) => waiter.done());
  }

  return {
    async write(items) {
      if (items.length === 0) {
        return;
      }
      await new Promise<void>((done, failed) => {
        waiting.push({ items, done, failed });
        pacer.add(items.length);
        if (!running) {
          void drain();
        }
      });
    },
    hurry: () => pacer.hurry(),
  };
}

/** Times of the writes of a group commit. */
interface Pacer {
  /** Counts items that wait. */
  add(items: number): void;
  /** Waits until the next write is due; undefined when it is due now. */
  waitUntilDue(): Promise<void> | undefined;
  /** Begins a write of so many items. */
  begin(items: number): void;
  hurry(): void;
}

function createPacer(pace: CommitPace): Pacer {
  let items = 0;
  let hurries = false;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  let gatheredAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let goOn: (() => void) | undefined;

  function readLeftMs(): number {
    const pauseMs = items >= pace.manyItems ? pace.busyEveryMs : pace.everyMs;
    return hurries ? 0 : Math.max(gatheredAtMs, begunAtMs + pauseMs) - performance.now();
  }

  /** Ends the wait when the write is due. */
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
    add(added) {
      items += added;
      look();
    },
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
    begin(written) {
      begunAtMs = performance.now();
      items -= written;
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
