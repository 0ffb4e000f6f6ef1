import { sleep } from '../../domain/waits.ts';

/** Port of timers, so that tests control the time. */
export interface Timers {
  /** Resolves after the time, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimers: Timers = { sleep };

/** Waits for work, but no longer than this time, milliseconds. */
export async function waitWithin(timers: Timers, limitMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, timers.sleep(limitMs, over.signal)]);
  over.abort();
}
