import type { Context, ErrorHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { ApiEnv } from './api-env.ts';
import { answerProblem, type Problem } from './problem.ts';

const PROBLEMS: Partial<Record<ErrorCode, Pick<Problem, 'status' | 'title'>>> = {
  input_invalid: { status: 400, title: 'Bad request' },
  not_found: { status: 404, title: 'Not found' },
  forbidden: { status: 403, title: 'Forbidden' },
  config_invalid: { status: 409, title: 'Not configured' },
  store_unavailable: { status: 503, title: 'Store unavailable' },
  query_stopped: { status: 503, title: 'Query too large' },
  overloaded: { status: 503, title: 'Too busy' },
};

/** Titles of the problems that handlers and middleware throw by their status. */
const TITLES: Readonly<Record<number, string>> = { 403: 'Forbidden', 504: 'Took too long' };

const DEFAULT_RETRY_MS = 5_000;

/**
 * Creates the answer to errors of handlers: expected ones become their problems, any other is logged and becomes a 500.
 * @param listFilters returns the filters that would make the query of a request smaller
 */
export function createErrorHandler(
  log: Log,
  listFilters: (c: Context) => readonly string[],
): ErrorHandler<ApiEnv> {
  return (error, c) => {
    if (error instanceof HTTPException) {
      const { status, message } = error;
      return answerProblem(c, { status, title: TITLES[status] ?? 'Bad request', detail: message });
    }
    const problem = error instanceof AppError ? PROBLEMS[error.code] : undefined;
    if (!(error instanceof AppError) || problem === undefined) {
      log.error('a request of the API failed', { error, url: c.req.path });
      const detail = 'The log of spanscore has the reason.';
      return answerProblem(c, { status: 500, title: 'Internal error', detail });
    }
    const retryS = Math.ceil((error.retryAfterMs ?? DEFAULT_RETRY_MS) / 1_000);
    const errors = error.details['errors'] as Problem['errors'];
    return answerProblem(
      c,
      {
        ...problem,
        detail: error.message + adviseFilters(error, () => listFilters(c)),
        ...(errors === undefined ? {} : { errors }),
      },
      error.retryable ? { 'retry-after': String(retryS) } : {},
    );
  };
}

function adviseFilters({ code }: AppError, listFilters: () => readonly string[]): string {
  if (code !== 'query_stopped') {
    return '';
  }
  const filters = listFilters();
  const advice =
    filters.length === 0
      ? 'ask for less at a time'
      : `make it smaller with the filter ${filters.join(' or ')}`;
  return `; ${advice}`;
}
