import { AppError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';

/** Result of a batch. With `failure`, the scores in neither list are tried again. */
export interface Delivery {
  /** The receiver confirmed these. */
  readonly delivered: readonly Score[];
  /** The receiver will never take these: counted and logged, not tried again. */
  readonly rejected: readonly Score[];
  /** Reason why the rest was not delivered. */
  readonly failure?: AppError | undefined;
}

/** One place that scores are sent to. */
export interface ScoreExporter {
  /** Under this name it is recorded what was sent; never to change for a place, or all is sent again. */
  readonly name: string;
  /** Most scores in one delivery. */
  readonly maxBatch: number;
  /** Sends in the given order. At least once: ids are stable, so that the receiver can tell a repeat. Never throws. */
  deliver(scores: readonly Score[], signal: AbortSignal): Promise<Delivery>;
  shutdown(): Promise<void>;
}

/** A delivery that failed as a whole, to be tried again. */
export function deliveryFailed(
  message: string,
  options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): AppError {
  return new AppError(message, { code: 'delivery_failed', stage: 'export', retryable: true, ...options });
}

/** HTTP statuses that speak of the one message; every other failure speaks of the receiver or the configuration. */
export function isRejection(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}
