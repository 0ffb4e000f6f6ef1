import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { Route } from './api.ts';
import { sendProblem } from './problem.ts';

const PROBLEMS: Partial<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  input_invalid: { status: 400, title: 'Bad request' },
  not_found: { status: 404, title: 'Not found' },
  store_unavailable: { status: 503, title: 'Store unavailable' },
};

const DEFAULT_RETRY_MS = 5_000;

/** Wraps a route handler: expected errors become replies. Any other error is a bug and is thrown again. */
export function answerErrors(handle: Route['handle']): Route['handle'] {
  return async (request, response, caller) => {
    try {
      await handle(request, response, caller);
    } catch (error) {
      const problem = error instanceof AppError ? PROBLEMS[error.code] : undefined;
      if (!(error instanceof AppError) || problem === undefined || response.headersSent) {
        throw error;
      }
      const retryS = Math.ceil((error.retryAfterMs ?? DEFAULT_RETRY_MS) / 1_000);
      const headers: Record<string, string> = error.retryable ? { 'retry-after': String(retryS) } : {};
      sendProblem(response, { ...problem, detail: error.message }, headers);
    }
  };
}
