import { setTimeout as delay } from 'node:timers/promises';

/** Port of timers, so that tests control the time. */
export interface Timers {
  /** Resolves after the time, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTimers: Timers = {
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, { signal, ref: true });
    } catch (error) {
      if (!signal.aborted) {
        throw error;
      }
    }
  },
};
