import type { SpanSource } from '../store/contracts/stores.ts';

/** The store's time without a query each time. */
export interface StoreClock {
  /** Unix milliseconds, by the store's clock. */
  nowMs(): number;
}

/** Asks the store once and goes on by a monotonic clock, so that this machine's own time of day never counts. */
export async function readStoreClock(
  spans: Pick<SpanSource, 'nowMs'>,
  monotonicMs: () => number,
): Promise<StoreClock> {
  const storeMs = await spans.nowMs();
  const startedMs = monotonicMs();
  return { nowMs: () => storeMs + Math.max(0, Math.trunc(monotonicMs() - startedMs)) };
}
