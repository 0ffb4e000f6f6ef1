import type { AppError } from '../../../src/domain/errors.ts';

const MAX_PAUSE_MS = 30_000;
/** Limit of doublings of the pause. */
const MAX_DOUBLINGS = 10;

interface Trouble {
  readonly offset: bigint;
  failures: number;
}

/** Record that blocks each partition, and the number of its attempts. */
export class PartitionTroubles {
  readonly #troubles = new Map<string, Trouble>();

  /** Number of failed attempts of this record. */
  failures(place: string, offset: bigint): number {
    const trouble = this.#troubles.get(place);
    return trouble?.offset === offset ? trouble.failures : 0;
  }

  /** Counts a failure. Returns the pause before the next attempt; it grows with each failure of the same record. */
  pauseMs(place: string, offset: bigint, failure: AppError, firstPauseMs: number): number {
    const known = this.#troubles.get(place);
    const trouble = known?.offset === offset ? known : { offset, failures: 0 };
    const doublings = Math.min(trouble.failures, MAX_DOUBLINGS);
    trouble.failures++;
    this.#troubles.set(place, trouble);
    return Math.min(MAX_PAUSE_MS, (failure.retryAfterMs ?? firstPauseMs) * 2 ** doublings);
  }

  clear(place: string): void {
    this.#troubles.delete(place);
  }
}
