import type { SpanSource } from '../store/contracts/stores.ts';

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
