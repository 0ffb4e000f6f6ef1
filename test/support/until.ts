import { setTimeout as sleep } from 'node:timers/promises';

/** Shortest and longest wait between two polls, milliseconds. */
const SHORTEST_MS = 100;
const LONGEST_MS = 1_000;

/** Share of the time so far that the next wait may add: a condition that takes long to come true costs the machine few polls. */
const WAIT_SHARE = 0.1;

/**
 * Polls until the condition is true. After `timeoutMs`, throws an error with the text of `state`, by default the text of
 * the condition.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 180_000,
  state: () => unknown = () => condition.toString().slice(0, 200),
): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > timeoutMs) {
      throw new Error(`not so within ${timeoutMs} ms: ${JSON.stringify(state())}`);
    }
    await sleep(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, WAIT_SHARE * waitedMs)));
  }
}
