import type { ReadPath, Replies, Writes } from './api-types.ts';
import { BASE_PATH } from './base-path.ts';
import { isServerGone, noteAnswer } from './live.ts';
import { query as address } from './router.ts';
import { fillPath, type Query } from './view-models/paths/fill-path.ts';
import type { Problem } from './view-models/problem.ts';

/** Path of all routes of the API. */
export const PREFIX = `${BASE_PATH}/api/v1`;

/** Longest wait for a reply, milliseconds; the server gives up after 30 s. */
const REPLY_LIMIT_MS = 40_000;

/** Refusal of a request, or no reply. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Says why something failed. */
export function describeFailure(error: unknown): string {
  return error instanceof ProblemError ? error.message : String(error);
}

export interface Request {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly signal?: AbortSignal;
  /** True for a read of all tenants of the reader, whichever is chosen in the bar. */
  readonly isOfAll?: boolean;
}

/** Asks a route for its JSON. Throws a `ProblemError`. */
export async function read<Path extends ReadPath>(path: Path, request: Request = {}): Promise<Replies[Path]> {
  return (await ask('GET', path, request)) as Replies[Path];
}

/** Sends JSON to a route. Throws a `ProblemError`. */
export async function write<Route extends keyof Writes>(
  route: Route,
  body: Writes[Route]['body'],
  request: Request = {},
): Promise<Writes[Route]['reply']> {
  const [method = '', path = ''] = route.split(' ');
  return ask(method, path, { ...request, body });
}

async function ask(
  method: string,
  path: string,
  { params, query, signal, body, isOfAll = false }: Request & { readonly body?: unknown },
): Promise<unknown> {
  const limit = AbortSignal.timeout(REPLY_LIMIT_MS);
  const reply = await fetch(PREFIX + fillPath(path, params, query), {
    method,
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    ...(method === 'GET'
      ? { headers: isOfAll ? {} : tenantHeader() }
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    isServerGone.value = true;
    throw new ProblemError(describeSilence(error));
  });
  noteAnswer();
  const content: unknown = await reply.json().catch(() => undefined);
  if (!reply.ok) {
    throw new ProblemError(readProblem(reply, content));
  }
  return content;
}

/** Header of a read for the tenant that is chosen in the bar: other readers ask for the rows of all their tenants. */
function tenantHeader(): Record<string, string> {
  const tenant = address.peek().get('tenant') ?? '';
  return tenant === '' ? {} : { 'x-spanscore-tenant': encodeURIComponent(tenant) };
}

function describeSilence(error: unknown): Problem {
  const reason =
    error instanceof DOMException && error.name === 'TimeoutError'
      ? 'it did not answer in time'
      : 'it cannot be reached';
  const detail = `${reason}; check that spanscore serve runs, then try again`;
  return { status: 0, title: 'No answer from spanscore', detail, errors: [], retryAfterS: undefined };
}

function readProblem(reply: Response, content: unknown): Problem {
  const { title, detail, errors } = (content ?? {}) as Partial<Problem>;
  const retryAfter = Number(reply.headers.get('retry-after') ?? Number.NaN);
  return {
    status: reply.status,
    title: title ?? `HTTP ${reply.status}`,
    detail: detail ?? 'the answer has no explanation; the log of spanscore may have one',
    errors: errors ?? [],
    retryAfterS: Number.isFinite(retryAfter) ? retryAfter : undefined,
  };
}
