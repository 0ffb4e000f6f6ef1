import type { Caller, RequestAccess, Sender } from './access/request-access.ts';
import type { RequestSite } from './access/request-site.ts';
import type { RequestRate } from './access/limits.ts';
import type { TenantStore } from './tenant-store.ts';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { createRoute, z, OpenAPIHono, type RouteConfig } from '@hono/zod-openapi';
import { routePath } from 'hono/route';
import { getPath } from 'hono/utils/url';
import { checkValue } from '../config/index.ts';
import type { Grant, Refusal, Scope } from '../config/access.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { InvalidInputError } from '../domain/errors.ts';

export interface ApiEnv {
  Variables: {
    access: RequestAccess;
    site: RequestSite;
    rate: RequestRate;
    /** Returns the store that shows only the tenant of a caller. Throws `AppError` for a process that has none. */
    findStore: (caller: Caller) => TenantStore;
    sender: Sender;
    caller: Caller;
    /** Called at the time limit of the request. Returns a sentence for the sender about the work that stops or goes on. */
    afterLimit?: () => string;
  };
}

/** Schema of an error reply (RFC 9457). */
export const ProblemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Faults of the input, each with the path of the value.'),
  })
  .openapi('Problem');

/** Error reply without its type. */
export type Problem = Omit<z.infer<typeof ProblemSchema>, 'type'>;

export const PROBLEM_HEADERS = {
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

export function problemJson(problem: Problem): string {
  return JSON.stringify({ type: 'about:blank', ...problem });
}

export function answerProblem(
  c: Pick<Context, 'body'>,
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return c.body(problemJson(problem), problem.status as ContentfulStatusCode, {
    ...PROBLEM_HEADERS,
    ...headers,
  });
}

export function describeProblem(description: string) {
  return { description, content: { 'application/problem+json': { schema: ProblemSchema } } };
}

export type ApiRouter = OpenAPIHono<ApiEnv>;

/**
 * Creates a router that refuses invalid input with the words of configuration faults.
 * @param basePath beginning of paths that the routes do not have: a proxy may remove it, or not
 */
export function createRouter(basePath = ''): ApiRouter {
  const router: ApiRouter = new OpenAPIHono<ApiEnv>({
    getPath(request) {
      const path = getPath(request);
      return path === basePath ? '/' : path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
    },
    defaultHook: (result, c) => {
      if (!result.success) {
        const { data, target } = result as unknown as { data: unknown; target: InputTarget };
        const schema = findSchema(router, routePath(c), { method: c.req.method, target });
        checkValue(schema, data);
      }
    },
  });
  return router;
}

type InputTarget = 'query' | 'param' | 'json';

interface RouteInput {
  readonly query?: z.ZodType;
  readonly params?: z.ZodType;
  readonly body?: { readonly content: { readonly 'application/json': { readonly schema: z.ZodType } } };
}

function findSchema(
  routes: ApiRouter,
  path: string,
  { method, target }: { readonly method: string; readonly target: InputTarget },
): z.ZodType {
  const input = findInput(routes, path, method);
  const schemas = {
    query: input?.query,
    param: input?.params,
    json: input?.body?.content['application/json'].schema,
  };
  const schema = schemas[target];
  if (schema === undefined) {
    throw new TypeError(`${method} ${path} has no schema for its ${target}`);
  }
  return schema;
}

function findInput({ openAPIRegistry }: ApiRouter, path: string, method: string): RouteInput | undefined {
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const routes = openAPIRegistry.definitions.flatMap((each) => (each.type === 'route' ? [each.route] : []));
  const route = routes.find(
    (each) => each.method === name && path.endsWith(each.path.replaceAll(/\{(.+?)\}/gu, ':$1')),
  );
  return route?.request as RouteInput | undefined;
}

/** Filters that make a query smaller, the strongest first. */
const NARROWING = ['since', 'traceId', 'scorer', 'service', 'agent', 'sessionId', 'userId', 'rule'];

/** Most filters that an advice names. */
const MAX_NAMED = 3;

/** Lists filters of the route of a request that would make its query smaller. The request may have a longer `since`. */
export function listFilters(routes: ApiRouter, c: Context): string[] {
  const { path, method } = c.req;
  // A path without parameters has the route of its own name, though one with a parameter takes it, too.
  const query = (findInput(routes, path, method) ?? findInput(routes, routePath(c, -1), method))?.query;
  const known = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  const given = c.req.query();
  return NARROWING.filter((name) => known.includes(name) && (name === 'since' || !(name in given))).slice(
    0,
    MAX_NAMED,
  );
}

/** Returns the parts of a route that needs a token with one of some scopes: its security, its check, and its further replies. */
function secureRoute(...scopes: readonly [Scope, ...Scope[]]) {
  return {
    security: scopes.flatMap((scope) => [{ bearer: [scope] }, { cookie: [scope] }]),
    middleware: limitRate(requireScope(...scopes)),
  };
}

export const PROBLEMS = {
  400: describeProblem('The input is wrong: `errors` names each fault.'),
  401: describeProblem('The bearer token is missing or unknown, or the sign-in has ended.'),
  403: describeProblem('The token lacks the scope, or the request comes from a foreign page.'),
  404: describeProblem('There is no such thing, or it belongs to another tenant.'),
  411: describeProblem('The body came without its length.'),
  413: describeProblem('The body is larger than the limit.'),
  429: describeProblem('The token has sent too many requests: try again after `Retry-After`.'),
  431: describeProblem('The address and the headers are longer than 16 KiB.'),
  503: describeProblem(
    'The process starts, its store does not answer, or a query was stopped: `detail` says which filter makes it smaller.',
  ),
  504: describeProblem('The request took longer than its limit.'),
};

/** Describes a route of senders with a token. Without scopes, a read needs `read`, and a write `admin`. */
export function describeRoute<
  Method extends 'get' | 'post' | 'delete',
  Path extends string,
  Request extends NonNullable<RouteConfig['request']>,
  Replies extends RouteConfig['responses'],
>(
  method: Method,
  path: Path,
  {
    scopes = [method === 'get' ? 'read' : 'admin'],
    tag,
    replies,
    ...rest
  }: {
    readonly scopes?: readonly [Scope, ...Scope[]];
    readonly tag: string;
    readonly summary: string;
    readonly description?: string;
    readonly request: Request;
    /** Replies beside the errors of every route. */
    readonly replies: Replies;
  },
) {
  const responses = { ...PROBLEMS, ...replies };
  return createRoute({ ...secureRoute(...scopes), method, path, tags: [tag], ...rest, responses });
}

/** Creates the check of a sender, which needs one of the scopes and sets the caller. */
export function requireScope(first: Scope, ...others: readonly Scope[]): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    let access = await c.var.access.check(c, first);
    for (const scope of others) {
      access = 'status' in access && access.status === 403 ? await c.var.access.check(c, scope) : access;
    }
    if ('status' in access) {
      return answerRefusal(c, access);
    }
    c.set('sender', access);
    c.set('caller', narrowCaller(c, identifyCaller(access)));
    c.header('cache-control', 'no-store');
    return next();
  };
}

/** Returns the caller that a sender is: a token without a tenant may see all tenants. */
export function identifyCaller({ name, tenant }: Grant): Caller {
  return { name, tenant: tenant === '' ? undefined : tenant };
}

/** Header by which a reader of all tenants asks for the rows of one. */
const TENANT_HEADER = 'x-spanscore-tenant';

/** Returns the caller of a read as one of the tenant that its header names; a caller of one tenant stays as it is. */
function narrowCaller({ req }: Context, caller: Caller): Caller {
  const tenant = req.method === 'GET' ? req.header(TENANT_HEADER) : undefined;
  if (tenant === undefined || tenant === '' || caller.tenant !== undefined) {
    return caller;
  }
  try {
    return { ...caller, tenant: decodeURIComponent(tenant) };
  } catch (cause) {
    throw new InvalidInputError(`${TENANT_HEADER}: write the name of the tenant in percent-encoding`, {
      cause,
    });
  }
}

/** Answers a request without access. */
export function answerRefusal(c: Pick<Context, 'body'>, { status, message }: Refusal): Response {
  return answerProblem(
    c,
    { status, title: status === 401 ? 'Unauthorized' : 'Forbidden', detail: message },
    status === 401 ? { 'www-authenticate': 'Bearer' } : {},
  );
}

/** Answers a request that came too early. */
export function answerTooMany(c: Pick<Context, 'body'>, detail: string, waitMs: number): Response {
  return answerProblem(
    c,
    { status: 429, title: 'Too many requests', detail },
    { 'retry-after': String(Math.ceil(waitMs / SECOND_MS)) },
  );
}

/** Adds the count of requests to the check of a sender. */
function limitRate(check: MiddlewareHandler<ApiEnv>): MiddlewareHandler<ApiEnv> {
  return (c, next) =>
    check(c, async () => {
      const { name } = c.var.sender;
      const waitMs = c.var.rate.take(name);
      if (waitMs > 0) {
        const sender = name === '' ? 'this process got' : `the token ${name} has sent`;
        const detail = `${sender} more requests than api.requestsPerMinute allows; wait, or raise this limit`;
        c.res = answerTooMany(c, detail, waitMs);
        return;
      }
      await next();
    });
}

/** Returns the store that shows only the tenant of the caller. */
export function tenantStore({ findStore, caller }: ApiEnv['Variables']): TenantStore {
  return findStore(caller);
}

export function describeJson<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

export function describeBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } };
}
