/** Share of a minute's allowance that may be used at once. */
const BURST_SHARE = 1 / 6;

export interface TokenBucket {
  /** Returns the milliseconds until `amount` may be taken; 0 when it may be taken now. */
  waitMs(amount: number): number;
  /**
   * Takes an amount. A negative amount gives tokens back; an amount beyond the content leaves a debt, which later calls wait
   * for.
   */
  take(amount: number): void;
}

/**
 * Creates a token bucket that refills evenly with `perMinute` a minute and holds a sixth of it. An amount larger than the
 * bucket may be taken when the bucket is full, so that no single call waits for ever. Undefined: no limit.
 */
export function createTokenBucket(
  perMinute: number | undefined,
  deps: { readonly now: () => number },
): TokenBucket {
  if (perMinute === undefined) {
    return { waitMs: () => 0, take: () => undefined };
  }
  const perMs = perMinute / 60_000;
  const capacity = Math.max(1, perMinute * BURST_SHARE);
  let level = capacity;
  let at = deps.now();

  function refill(): void {
    const now = deps.now();
    level = Math.min(capacity, level + Math.max(0, now - at) * perMs);
    at = now;
  }

  return {
    waitMs(amount) {
      refill();
      return Math.max(0, (Math.min(amount, capacity) - level) / perMs);
    },
    take(amount) {
      refill();
      level = Math.min(capacity, level - amount);
    },
  };
}
