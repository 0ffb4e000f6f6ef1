import { AppError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';

/** Result of one attempt to send a message. */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  /**
   * Why the message was not delivered. `refused`: the receiver does not accept these scores. `failed`: either the scores or the
   * receiver are the cause. `away`: for now, every other message would fail too.
   */
  | { readonly kind: 'refused' | 'failed' | 'away'; readonly error: AppError };

export type FailedDelivery = Exclude<DeliveryOutcome, { kind: 'delivered' }>;

/** One receiver of scores. */
export interface ScoreExporter {
  /** Name under which deliveries are recorded. It must stay the same for a receiver; a new name is sent new scores only. */
  readonly name: string;
  /** Most scores in one message. */
  readonly maxBatch: number;
  /** Attempts to deliver one score that fails while others are delivered, before it becomes a dead letter. */
  readonly attempts: number;
  /**
   * Makes one attempt to send the scores as one message. Scores are sent at least once, with stable ids by which the receiver
   * can recognise a repeat. Never throws.
   */
  deliver(scores: readonly Score[], signal: AbortSignal): Promise<DeliveryOutcome>;
  shutdown(): Promise<void>;
}

/** Creates the error of a delivery that can be tried again. */
export function deliveryFailed(
  message: string,
  options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): AppError {
  return new AppError(message, { code: 'delivery_failed', stage: 'export', retryable: true, ...options });
}

/** Classifies an HTTP status that confirms nothing. */
export function classifyFailure(status: number, error: AppError): FailedDelivery {
  if (status === 400 || status === 413 || status === 422) {
    return { kind: 'refused', error };
  }
  return { kind: status === 429 || error.retryAfterMs !== undefined ? 'away' : 'failed', error };
}
