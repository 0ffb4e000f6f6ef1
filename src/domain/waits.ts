import { setImmediate, setTimeout as wait } from 'node:timers/promises';

/** Waits a time. An aborted signal ends the wait; then the promise resolves, too. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) {
      throw error;
    }
  }
}

/** Port of timers, so that tests control the time. */
export interface Timers {
  /** Resolves after the time, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimers: Timers = { sleep };

/** Waits for work until the signal is aborted; then throws the reason of the signal. A later result of the work is dropped. */
export async function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  if (signal.aborted) {
    onAbort();
  }
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits until all work has ended, so that no read or write is left behind. Then throws the first failure. */
export async function allSettled(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    throw failed.reason;
  }
}

/**
 * Creates a function for long work: when the work has run for `turnMs` milliseconds, it lets other work run. Callers at the same time go on
 * one after the other, so that what comes in meanwhile waits for `turnMs` and the work of one of them at most. It rejects with the reason of
 * the signal once that is aborted.
 */
export function createTurns(turnMs: number, signal?: AbortSignal): () => Promise<void> {
  let endsAtMs = performance.now() + turnMs;
  let last: Promise<void> | undefined;
  const waitFor = async (before: Promise<void> | undefined): Promise<void> => {
    await before;
    // By then the caller before has done its work, up to its next wait.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (performance.now() >= endsAtMs) {
      await setImmediate();
      endsAtMs = performance.now() + turnMs;
    }
  };
  return async () => {
    last = waitFor(last);
    await last;
    signal?.throwIfAborted();
  };
}
