import { JudgeError } from '../judge-error.ts';

/** Question of a scorer as the provider gets it. */
export interface BatchQuestion {
  /** Name of the provider. */
  readonly provider: string;
  /** Body of the request, JSON. */
  readonly body: string;
  /** Code that differs from process to process and does not change the question. */
  readonly fenceCode: string | undefined;
}

/** Reply of the provider to one question of a batch. */
export interface BatchReply {
  /** HTTP status of the reply. */
  readonly status: number;
  readonly body: string;
}

/** Place of one attempt of a scorer whose questions go into batches. */
export interface BatchSeat {
  /** True when a question of the attempt has no reply yet: the attempt has no result. */
  readonly isParked: boolean;
  /** Returns the stored reply. Throws what `createParkedError` returns after it has put the question into a batch. */
  answer(question: BatchQuestion): Promise<BatchReply>;
}

/** Facts of an attempt. */
export interface SeatedAttempt {
  readonly tenant: string;
  /** '' for a session. */
  readonly traceId: string;
  /** '' for a run without a session. */
  readonly sessionId: string;
  readonly scoreId: string;
  readonly evidenceHash: string;
  /** Rule that pays. */
  readonly rule: string;
}

/** Gives each attempt of a pass its seat. */
export interface BatchSeats {
  sit(attempt: SeatedAttempt): BatchSeat;
}

/** Part of the list price that a provider charges for a batch. */
export const BATCH_PRICE_SHARE = 0.5;

/** Returns the error of a question whose reply comes later. */
export function createParkedError(): JudgeError {
  return new JudgeError('cancelled', 'the question waits for the reply of a batch', { isUnbilled: true });
}
