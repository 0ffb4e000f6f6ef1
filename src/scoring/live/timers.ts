import type { SpanSource } from '../../store/contracts/stores.ts';
import type { Timers } from '../../domain/waits.ts';

/** Waits for work, but no longer than this time, milliseconds. */
export async function waitWithin(timers: Timers, limitMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, timers.sleep(limitMs, over.signal)]);
  over.abort();
}

/** Clock of the store that needs no query per reading. */
export interface StoreClock {
  /** Unix milliseconds, by the store's clock. */
  nowMs(): number;
}

/** Reads the store's clock once and adds a monotonic clock, so that the clock of this machine is not used. */
export async function readStoreClock(
  spans: Pick<SpanSource, 'nowMs'>,
  monotonicMs: () => number,
): Promise<StoreClock> {
  return createStoreClock(await spans.nowMs(), monotonicMs);
}

/** Creates a clock from one reading of the store's clock, Unix milliseconds. */
export function createStoreClock(storeMs: number, monotonicMs: () => number): StoreClock {
  const startedMs = monotonicMs();
  return { nowMs: () => storeMs + Math.max(0, Math.trunc(monotonicMs() - startedMs)) };
}
