import { sleep } from '../../domain/waits.ts';

/** Port of timers, so that tests control the time. */
export interface Timers {
  /** Resolves after the time, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimers: Timers = { sleep };
