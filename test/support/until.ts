import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds; throws after `timeoutMs`. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) {
      throw new Error(`not so within ${timeoutMs} ms: ${condition.toString().slice(0, 200)}`);
    }
    await sleep(20);
  }
}
