import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';

/** Most items of one write. Further items wait for the next write. */
const MAX_ITEMS = 5_000;

/** Joins writes at the same time into few large ones. */
export interface GroupCommit<T> {
  /** Returns when the items are written, at once without items. Throws the error of the write. */
  write(items: readonly T[]): Promise<void>;
}

interface Waiter<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Creates a group commit. Items that come during a write, or during the wait before it, go together: one insert for many traces.
 * A group that the store refuses for good is written one call at a time, so that a bad row costs only its own call.
 * @param waitMs time before each write, milliseconds: an insert costs the store the same for one row and for hundreds
 */
export function createGroupCommit<T>(
  write: (items: readonly T[]) => Promise<void>,
  waitMs = 0,
): GroupCommit<T> {
  const waiting: Waiter<T>[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      if (waitMs > 0) {
        await sleep(waitMs);
      }
      await commit(takeGroup(waiting));
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
        if (!running) {
          void drain();
        }
      });
    },
  };
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
