import type { Context, ErrorHandler, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { type ApiEnv, answerProblem, type Problem } from './router.ts';
import { hashBytes } from '../domain/identity.ts';

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

/**
 * Refuses bodies above a limit in bytes, and bodies without a length: Node.js keeps senders to the length that they give. Own code,
 * because `hono/body-limit` needs the global `Request` replaced for the whole process.
 */
export function limitBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    if (c.req.header('transfer-encoding') !== undefined) {
      const detail = 'send the body with the header "content-length"';
      return answerProblem(c, { status: 411, title: 'Length required', detail });
    }
    if (Number(c.req.header('content-length') ?? 0) > maxBytes) {
      const detail = `the body is larger than the limit of ${maxBytes} bytes`;
      return answerProblem(c, { status: 413, title: 'Too large', detail });
    }
    return next();
  };
}

/**
 * Adds an `ETag` to JSON replies of reads, and answers 304 without a body to a client that has the same reply. The client has to ask each
 * time: a reply may change at once.
 */
export const answerUnchanged: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next();
  const isJson = c.res.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (!['GET', 'HEAD'].includes(c.req.method) || c.res.status !== 200 || !isJson) {
    return;
  }
  const body = await c.res.arrayBuffer();
  const etag = `"${hashBytes(new Uint8Array(body))}"`;
  const headers = new Headers(c.res.headers);
  headers.set('etag', etag);
  headers.set('cache-control', 'private, no-cache');
  const known = listTags(c.req.header('if-none-match'));
  const isKnown = known.includes(etag) || known.includes(ANY_TAG);
  if (isKnown) {
    headers.delete('content-type');
    headers.delete('content-length');
  }
  c.res = undefined;
  c.res = isKnown ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
};

/** Tag of `If-None-Match` that stands for every reply. */
const ANY_TAG = '*';

/** Lists the tags of `If-None-Match`; a weak one stands for the same reply. */
function listTags(header = ''): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//u, ''));
}
