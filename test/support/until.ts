import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the condition is true. After `timeoutMs`, throws an error with the text of `state`, by default the text of
 * the condition.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 90_000,
  state: () => unknown = () => condition.toString().slice(0, 200),
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) {
      throw new Error(`not so within ${timeoutMs} ms: ${JSON.stringify(state())}`);
    }
    await sleep(20);
  }
}
