import { type AppError, StoreRejectedError } from '../../../src/domain/errors.ts';

const MAX_PAUSE_MS = 30_000;
/** The pause doubles at most so often. */
const MAX_DOUBLINGS = 10;

interface Trouble {
  readonly offset: bigint;
  failures: number;
  refusals: number;
}

/** What holds each partition up: the record that could not be stored, and how often it was tried. */
export class PartitionTroubles {
  readonly #troubles = new Map<string, Trouble>();

  /** How often the store refused this record. */
  refusals(place: string, offset: bigint): number {
    const trouble = this.#troubles.get(place);
    return trouble?.offset === offset ? trouble.refusals : 0;
  }

  /** Notes a failure; how long to wait before the next attempt. Longer each time that the same record fails. */
  pauseMs(place: string, offset: bigint, failure: AppError, firstPauseMs: number): number {
    const known = this.#troubles.get(place);
    const trouble = known?.offset === offset ? known : { offset, failures: 0, refusals: 0 };
    const doublings = Math.min(trouble.failures, MAX_DOUBLINGS);
    trouble.failures++;
    trouble.refusals += isRefusal(failure) ? 1 : 0;
    this.#troubles.set(place, trouble);
    return Math.min(MAX_PAUSE_MS, (failure.retryAfterMs ?? firstPauseMs) * 2 ** doublings);
  }

  clear(place: string): void {
    this.#troubles.delete(place);
  }
}

/** The store was there and refused the rows, though it may take them later (a column that is added). */
export function isRefusal(failure: AppError): boolean {
  return failure.cause instanceof StoreRejectedError;
}
