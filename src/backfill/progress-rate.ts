import { SECOND_MS } from '../domain/durations.ts';

/** Time over which the speed is measured, milliseconds. */
const WINDOW_MS = 30_000;

/** Speed of a count that grows. */
export class ProgressRate {
  readonly #monotonicMs: () => number;
  readonly #samples: { readonly atMs: number; readonly count: number }[] = [];

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Returns the growth a second since half a minute ago; null before the count has grown. */
  measure(count: number): number | null {
    const atMs = this.#monotonicMs();
    this.#samples.push({ atMs, count });
    while (atMs - (this.#samples[1]?.atMs ?? atMs) > WINDOW_MS) {
      this.#samples.shift();
    }
    const [first] = this.#samples;
    const elapsedMs = atMs - (first?.atMs ?? atMs);
    const growth = count - (first?.count ?? count);
    return elapsedMs <= 0 || growth <= 0 ? null : (growth * SECOND_MS) / elapsedMs;
  }
}
