import { AppError, InvalidInputError } from '../domain/errors.ts';
import type { ScorerRunOptions } from './scorer.ts';

/** Longest time that a timer of the platform can measure: about 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Bounds of one run: the caller's abort signal and a time limit. */
export interface RunBounds {
  readonly signal: AbortSignal;
  /** Resolves with the result of the work, or rejects with the reason as soon as the run is aborted or out of time. */
  guard<T>(work: T | Promise<T>): Promise<T>;
  /** Removes the timers and listeners; call it when the run has ended, with or without success. */
  release(): void;
}

/** Creates the bounds of a run; undefined for a run without bounds. Throws `InvalidInputError` for an invalid time. */
export function createRunBounds(scorerId: string, options: ScorerRunOptions): RunBounds | undefined {
  const { abortSignal, timeoutMs } = options;
  if (abortSignal === undefined && timeoutMs === undefined) {
    return undefined;
  }
  if (timeoutMs !== undefined && !isTime(timeoutMs)) {
    throw new InvalidInputError(
      `timeoutMs of the run of scorer "${scorerId}" is ${String(timeoutMs)}; give milliseconds above 0, at most ${MAX_TIMEOUT_MS}`,
    );
  }
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(cancelled(scorerId, abortSignal?.reason));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => controller.abort(timeoutError(scorerId, timeoutMs)), timeoutMs);
  if (abortSignal?.aborted) {
    onAbort();
  }
  abortSignal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    guard: (work) => abortWith(work, controller.signal),
    release: () => {
      clearTimeout(timer);
      abortSignal?.removeEventListener('abort', onAbort);
    },
  };
}

function isTime(timeoutMs: unknown): boolean {
  return typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS;
}

/** True for the error of a run that its caller cancelled. */
export function isCancelled(error: unknown): boolean {
  return error instanceof AppError && error.code === 'cancelled';
}

async function abortWith<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) {
      onAbort();
    }
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    if (onAbort !== undefined) {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

function cancelled(scorerId: string, cause: unknown): AppError {
  return new AppError(`The run of scorer "${scorerId}" was cancelled`, {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
    cause,
  });
}

function timeoutError(scorerId: string, timeoutMs: number): AppError {
  return new AppError(`Scorer "${scorerId}" did not finish within ${timeoutMs} ms`, {
    code: 'scorer_failed',
    stage: 'judge',
    retryable: false,
    details: { timeoutMs },
  });
}
