import { setImmediate as turn } from 'node:timers/promises';
import type { Timers } from '../../../src/domain/waits.ts';
import type { MemoryStore } from './memory-store.ts';

/**
 * Turns of the event loop after each step, so that due callbacks can finish: many traces go on one after the other. Nothing in these tests
 * does real I/O.
 */
const TURNS = 200;

/** Timers that a test advances: the store's clock and every sleep use the same time. */
export class FakeTimers implements Timers {
  readonly #store: MemoryStore;
  readonly #sleeps = new Set<{ atMs: number; wake: () => void }>();

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { atMs: this.#store.clockMs + ms, wake: resolve };
    this.#sleeps.add(entry);
    const end = () => {
      this.#sleeps.delete(entry);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) {
      end();
    }
    return promise;
  }

  /** Advances the time in steps of `stepMs`. */
  async advance(ms: number, stepMs = 1_000): Promise<void> {
    await this.settle();
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.#store.clockMs += Math.min(stepMs, ms - passed);
      for (const entry of this.#sleeps) {
        if (entry.atMs <= this.#store.clockMs) {
          this.#sleeps.delete(entry);
          entry.wake();
        }
      }
      await this.settle();
    }
  }

  async settle(): Promise<void> {
    for (let count = 0; count < TURNS; count += 1) {
      await turn();
    }
  }
}
