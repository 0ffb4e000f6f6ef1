import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';

/** One run that waits for a process or runs in one. */
export interface GuestJob {
  readonly id: number;
  readonly input: ScorerRunInput;
  /** Judge scope of the run: judges, budget and audit of its questions. */
  readonly scope: JudgeScope;
  /** Time by the monotonic clock, milliseconds. */
  readonly queuedAtMs: number;
  resolve(result: ScorerRunResult): void;
  reject(error: AppError): void;
}

/** Creates an error that ends a run. */
export function guestError(
  code: ErrorCode,
  message: string,
  options: { readonly retryAfterMs?: number } = {},
): AppError {
  const retryable = code === 'scorer_paused' || code === 'scorer_unavailable' || code === 'cancelled';
  return new AppError(message, { code, stage: 'judge', retryable, ...options });
}

/** Creates the error of a run that this process stopped: the run has no outcome. */
export function cancelledError(name: string): AppError {
  return guestError('cancelled', `the run of scorer ${name} was broken off`);
}
