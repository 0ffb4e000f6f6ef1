import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until the condition holds; fails after `timeoutMs` with what `state` says, else with the condition itself. */
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
