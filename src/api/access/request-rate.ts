const MINUTE_MS = 60_000;

/** Count of requests by sender. */
export interface RequestRate {
  /** Counts a request. Returns the time until the sender may ask again, milliseconds; 0 for a request within the limit. */
  take(sender: string): number;
}

/**
 * Creates a count of requests: each sender may send `perMinute` at once, and one more for each part of a minute. There are as many
 * senders as tokens.
 * @param nowMs clock that never goes back, milliseconds
 */
export function createRequestRate(perMinute: number, nowMs: () => number): RequestRate {
  const spacingMs = MINUTE_MS / perMinute;
  /** Time at which all requests of a sender are made up for. */
  const settledMs = new Map<string, number>();
  return {
    take(sender) {
      const atMs = nowMs();
      const nextMs = Math.max(settledMs.get(sender) ?? 0, atMs) + spacingMs;
      const waitMs = nextMs - MINUTE_MS - atMs;
      if (waitMs > 0) {
        return waitMs;
      }
      settledMs.set(sender, nextMs);
      return 0;
    },
  };
}
