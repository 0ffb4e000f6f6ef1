/** Work that may be interrupted between its steps, so that a large trace does not hold up all else in its process. */
export type Steps<T> = Generator<void, T>;

/** Does all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    step = steps.next();
  }
  return step.value;
}

/**
 * Does the steps for `sliceMs` at a time, by a clock of milliseconds, and waits for `pause` between the slices. One step is
 * never interrupted.
 */
export async function finishInSlices<T>(
  steps: Steps<T>,
  sliceMs: number,
  { nowMs, pause }: { nowMs: () => number; pause: () => Promise<unknown> },
): Promise<T> {
  let startedMs = nowMs();
  let step = steps.next();
  while (step.done !== true) {
    if (nowMs() - startedMs >= sliceMs) {
      await pause();
      startedMs = nowMs();
    }
    step = steps.next();
  }
  return step.value;
}
