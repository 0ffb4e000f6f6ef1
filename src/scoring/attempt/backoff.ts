const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 3_600_000;

/** Largest random addition, as a share of a wait, so that attempts that failed together do not come back together. */
const JITTER = 0.2;

/**
 * Computes the wait before the next attempt, milliseconds: 10 s, doubled up to an hour, at least `retryAfterMs`, plus up to a
 * fifth at random (`random` in [0, 1)).
 */
export function computeBackoffMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  const doubled = FIRST_WAIT_MS * 2 ** Math.min(Math.max(attempts - 1, 0), 20);
  const wait = Math.max(Math.min(doubled, LONGEST_WAIT_MS), retryAfterMs ?? 0);
  return Math.trunc(wait * (1 + JITTER * random));
}
