const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 3_600_000;

/** The shortest wait of what found a queue full. */
const QUEUE_WAIT_MS = 15_000;

/** Share of a wait that is random, so that what failed together does not return together. */
const JITTER = 0.2;

/**
 * Wait before the next try, milliseconds: 10 s doubling to an hour, never less than the other side asked for, plus up to a
 * fifth at random (`random` in [0, 1)).
 */
export function backoffMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  const doubled = FIRST_WAIT_MS * 2 ** Math.min(Math.max(attempts - 1, 0), 20);
  const wait = Math.max(Math.min(doubled, LONGEST_WAIT_MS), retryAfterMs ?? 0);
  return Math.trunc(wait * (1 + JITTER * random));
}

/** Wait before a full queue is tried again, milliseconds: 15 to 45 s (`random` in [0, 1)), however often it was full. */
export function queueWaitMs(random: number): number {
  return Math.trunc(QUEUE_WAIT_MS * (1 + 2 * random));
}
