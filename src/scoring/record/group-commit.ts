import { AppError } from '../../domain/errors.ts';

/** Most items in one write; more wait for the next one. */
const MAX_ITEMS = 5_000;

/** Joins concurrent writes into few large ones. */
export interface GroupCommit<T> {
  /** Returns when these items are written; throws what the write threw. Nothing to write returns at once. */
  write(items: readonly T[]): Promise<void>;
}

interface Waiter<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * While one write is under way, the next ones gather and go together: one insert for many traces under load, no added wait
 * when idle. A group that is refused for good is tried one by one, so that a bad row never costs its neighbours.
 */
export function createGroupCommit<T>(write: (items: readonly T[]) => Promise<void>): GroupCommit<T> {
  const waiting: Waiter<T>[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
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
