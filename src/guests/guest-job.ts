import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';

/** One run that waits for a process or is in one. */
export interface GuestJob {
  readonly id: number;
  readonly input: ScorerRunInput;
  /** The judges, budget and audit of its questions. */
  readonly scope: JudgeScope;
  /** By the monotonic clock. */
  readonly queuedAtMs: number;
  resolve(result: ScorerRunResult): void;
  reject(error: AppError): void;
}

/** An error that ends a run. */
export function guestError(
  code: ErrorCode,
  message: string,
  options: { readonly retryAfterMs?: number } = {},
): AppError {
  const retryable = code === 'scorer_paused' || code === 'scorer_unavailable' || code === 'cancelled';
  return new AppError(message, { code, stage: 'judge', retryable, ...options });
}

/** The error of a run that this process gave up: it has no outcome. */
export function cancelledError(name: string): AppError {
  return guestError('cancelled', `the run of scorer ${name} was broken off`);
}
