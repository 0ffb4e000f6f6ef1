/** Work that can pause between its steps, so that a large trace does not block its process. */
export type Steps<T> = Generator<void, T>;

export function finish<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    step = steps.next();
  }
  return step.value;
}

/** Runs the steps for `sliceMs` milliseconds at a time and waits for `pause` between. A step is never interrupted. */
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
