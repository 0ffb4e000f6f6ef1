import { AppError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';

/** Result of a batch. With `failure`, the scores in neither list are sent again later. */
export interface Delivery {
  /** Scores that the receiver confirmed. */
  readonly delivered: readonly Score[];
  /** Scores that the receiver will never accept: they are counted and logged, not sent again. */
  readonly rejected: readonly Score[];
  /** Reason why the other scores were not delivered. */
  readonly failure?: AppError | undefined;
}

/** One receiver of scores. */
export interface ScoreExporter {
  /** Name under which deliveries are recorded. It must stay the same for a receiver; a new name sends its scores again. */
  readonly name: string;
  /** Most scores in one delivery. */
  readonly maxBatch: number;
  /**
   * Sends the scores in this order, at least once: ids are stable, so that the receiver can recognise a repeat. Never throws.
   */
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

/** True for HTTP statuses about the single message; every other failure is about the receiver or the configuration. */
export function isRejection(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}
