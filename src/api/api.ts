import type { Context, Hono, MiddlewareHandler } from 'hono';
import { except } from 'hono/combine';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { timeout } from 'hono/timeout';
import { readPublicUrl } from '../config/addresses/endpoints.ts';
import { NotFoundError } from '../domain/errors.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { createRequestAccess, type Caller, type RequestAccessOptions } from './access/request-access.ts';
import { createRequestRate, createWrongTokenReport } from './access/limits.ts';
import { createSiteReader, type SiteOptions } from './access/request-site.ts';
import { createErrorHandler, limitBody, answerUnchanged } from './middleware.ts';
import {
  type ApiEnv,
  answerProblem,
  type ApiRouter,
  createRouter,
  listFilters as listRouteFilters,
  requireScope,
} from './router.ts';
import { guardBrowsers, type BrowserGuardOptions } from './browser-guard.ts';
import { createDashboard, type DashboardFiles } from './dashboard/dashboard.ts';
import { buildDocsPage, buildOpenApi, type OpenApiDocument } from './openapi.ts';
import { createProbes, type ProbeOptions } from './probes.ts';
import { createAgentRoutes } from './resources/agents.ts';
import { createCompareRoutes } from './resources/aggregates/compare.ts';
import { createCoverageRoutes } from './resources/aggregates/coverage.ts';
import { createDistributionRoutes } from './resources/aggregates/distribution.ts';
import { createOverviewRoutes } from './resources/aggregates/overview.ts';
import { createSeriesRoutes } from './resources/aggregates/series.ts';
import { createAlertRoutes, createMonitorRoutes, createMuteRoutes } from './resources/alerts.ts';
import { createBackfillRoutes, createJobRoutes } from './resources/backfills.ts';
import { createConfigRoutes } from './resources/config.ts';
import { createConfiguredRoutes } from './resources/configured.ts';
import { createAnchorRoutes } from './resources/anchors.ts';
import { createLabelRoutes } from './resources/labels.ts';
import { createIssueChangeRoutes, createIssueRoutes } from './resources/issues.ts';
import { createMarkerRoutes } from './resources/markers.ts';
import { createPreviewRoutes } from './resources/previews.ts';
import { createPurgeRoutes } from './resources/purges.ts';
import { createScoreWriteRoutes, createScoreRoutes } from './resources/scores.ts';
import { createSessionRoutes } from './resources/sessions.ts';
import { createSqlRoutes } from './resources/sql.ts';
import { createSignInRoutes } from './resources/sign-in.ts';
import { createStatusRoutes } from './resources/status.ts';
import { createTraceRoutes } from './resources/traces.ts';
import type { TenantStore } from './tenant-store.ts';

/** Longest body of a request, bytes. */
const MAX_BODY = 1024 * 1024;

/** Longest time of a request until its reply begins, milliseconds. The events of a stream may come later. */
const MAX_REQUEST_MS = 30_000;

const MCP = '/mcp';

export const PREFIX = '/api/v1';

export interface ApiOptions
  extends
    ProbeOptions,
    SiteOptions,
    Pick<BrowserGuardOptions, 'hosts'>,
    Omit<RequestAccessOptions, 'onWrongToken'> {
  /** Most requests of a token within a minute. */
  readonly requestsPerMinute: number;
  /** Limit of a request, milliseconds. Default 30,000. */
  readonly maxRequestMs?: number | undefined;
  /** Undefined when the dashboard was not built. */
  readonly dashboard: DashboardFiles | undefined;
  /**
   * Returns the store for a caller, which shows its tenant only; `starting` while the process starts, `none` for a process that has only
   * probes.
   */
  readonly findStore: (caller: Caller) => TenantStore | 'starting' | 'none';
}

/** Routes of the resources: the one list of them. */
const RESOURCES: readonly (() => Hono<ApiEnv>)[] = [
  createScoreRoutes,
  createTraceRoutes,
  createSessionRoutes,
  createConfiguredRoutes,
  createConfigRoutes,
  createPreviewRoutes,
  createMonitorRoutes,
  createAlertRoutes,
  createMuteRoutes,
  createIssueRoutes,
  createIssueChangeRoutes,
  createMarkerRoutes,
  createLabelRoutes,
  createAnchorRoutes,
  createSignInRoutes,
  createScoreWriteRoutes,
  createPurgeRoutes,
  createJobRoutes,
  createBackfillRoutes,
  createStatusRoutes,
  createAgentRoutes,
  createCoverageRoutes,
  createSeriesRoutes,
  createDistributionRoutes,
  createOverviewRoutes,
  createCompareRoutes,
  createSqlRoutes,
];

/** Creates the routes of the resources. The type of the whole leaves each route out: together they are more than the compiler takes. */
export function createApiRoutes(): ApiRouter {
  const routes = createRouter();
  for (const create of RESOURCES) {
    routes.route('/', create());
  }
  return routes;
}

export function createApi(options: ApiOptions): Hono<ApiEnv> {
  const { log, requestsPerMinute, findStore, maxRequestMs = MAX_REQUEST_MS, publicUrl } = options;
  const readSite = createSiteReader(options);
  const onWrongToken = createWrongTokenReport(log, options.metrics);
  const access = createRequestAccess({ ...options, onWrongToken });
  const rate = createRequestRate(requestsPerMinute, () => performance.now());
  const routes = createApiRoutes();
  const api = createRouter(publicUrl === undefined ? '' : readPublicUrl(publicUrl).basePath);
  const listFilters = (c: Context) => listRouteFilters(routes, c);
  const hasNone = () => findStore(NOBODY) === 'none';
  const refuseNone: MiddlewareHandler<ApiEnv> = async (c, next) => (hasNone() ? c.notFound() : next());
  api.onError(createErrorHandler(log, listFilters));
  api.use(limitUse(options));
  api.use(async (c, next) => {
    c.set('site', readSite(c));
    c.set('access', access);
    c.set('rate', rate);
    c.set('findStore', (caller) => requireStore(findStore(caller)));
    await next();
  });
  // With tokens, no page can read the metrics, and a supervisor asks for them under any name.
  const exempt = PROBES.filter((path) => path !== '/metrics' || options.tokens.length > 0);
  const hasData = (path: string) => ['/metrics', MCP].includes(path) || path.startsWith(`${PREFIX}/`);
  api.use(guardBrowsers({ hosts: listHosts(options), isOpen: options.tokens.length === 0, exempt, hasData }));
  api.route('/', createProbes(options));
  api.route('/', createDashboard(options.dashboard, refuseNone));
  const refuseUnready: MiddlewareHandler<ApiEnv> = async (c, next) =>
    findStore(NOBODY) === 'starting'
      ? answerProblem(c, STARTING, { 'retry-after': '1' })
      : hasNone()
        ? c.notFound()
        : next();
  api.post(MCP, refuseUnready, limitBody(MAX_BODY), requireScope('read', 'label'), (c) => answerMcp(api, c));
  addDocsForAgents(api, refuseNone);
  api.use(`${PREFIX}/*`, refuseUnready);
  api.use(`${PREFIX}/*`, limitBody(MAX_BODY), answerUnchanged);
  api.use(
    `${PREFIX}/*`,
    // A statement has a limit of its own.
    except(
      `${PREFIX}/sql`,
      timeout(maxRequestMs, (c: Context<ApiEnv>) => {
        const advice = c.var.afterLimit?.() ?? 'ask for less at a time';
        const message = `the request took longer than ${maxRequestMs / SECOND_MS} s; ${advice}`;
        return new HTTPException(504, { message });
      }),
    ),
  );
  api.route(PREFIX, routes);
  // Made by the first request: it takes a sixth of the processor time of a start.
  let document: OpenApiDocument | undefined;
  const readDocument = () => (document ??= buildOpenApi(PREFIX, createApiRoutes()));
  api.get(`${PREFIX}/openapi.json`, (c) => c.json(readDocument()));
  api.get('/docs', refuseNone, (c) => c.html(buildDocsPage(readDocument())));
  const paths = [
    ...PROBES.map((path) => describePath(path)),
    describePath(MCP, 'POST'),
    ...listPaths(routes),
  ];
  api.notFound((c) => answerUnknown(c, hasNone() ? paths.slice(0, PROBES.length) : paths));
  return api;
}

/** Answers a request that no route takes: for a path of a route, with its methods. */
function answerUnknown(c: Context, known: ReturnType<typeof listPaths>): Response {
  const here = known.filter(({ pattern }) => pattern.test(c.req.path));
  if (here.length > 0) {
    const methods = here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const allow = [...new Set(methods)].join(', ');
    return answerProblem(
      c,
      { status: 405, title: 'Method not allowed', detail: `Allowed: ${allow}` },
      { allow },
    );
  }
  const detail = `The routes are: ${[...new Set(known.map(({ path }) => path))].join(', ')}`;
  return answerProblem(c, { status: 404, title: 'Not found', detail });
}

/** Sets headers that limit what browsers do with replies, where a handler has not set its own. */
function limitUse({ scheme, publicUrl = '' }: SiteOptions): MiddlewareHandler {
  const isSecure = scheme === 'https' || publicUrl.startsWith('https:');
  return secureHeaders({
    contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    strictTransportSecurity: isSecure ? 'max-age=31536000' : false,
    xFrameOptions: 'DENY',
    overwrite: false,
  });
}

function listHosts({ hosts, publicUrl }: Pick<ApiOptions, 'hosts' | 'publicUrl'>): string[] {
  return publicUrl === undefined ? [...hosts] : [...hosts, new URL(publicUrl).hostname];
}

/** Caller of whom nothing is known, to ask for the state of the process. */
const NOBODY = { name: '', tenant: '' };

const STARTING = {
  status: 503,
  title: 'Starting',
  detail: 'The process starts; GET /readyz says what it waits for.',
};

function requireStore(store: TenantStore | 'starting' | 'none'): TenantStore {
  if (typeof store === 'string') {
    throw new NotFoundError('this process has no API: start it with the role api');
  }
  return store;
}

const PROBES = ['/healthz', '/readyz', '/metrics'];

function describePath(path: string, method = 'GET') {
  return { path, method, pattern: new RegExp(`^${path}$`, 'u') };
}

/** Answers a request of coding agents. Its tools ask this API in the name of the sender. */
async function answerMcp(api: Hono<ApiEnv>, c: Context<ApiEnv>): Promise<Response> {
  const mcp = await import('../mcp/mcp-server.ts');
  const { url, headers: sent, signal } = c.req.raw;
  const body = await c.req.text();
  const request = new Request(url, { method: 'POST', headers: sent, body, signal });
  return mcp.answerMcp(request, async (path, init) => {
    const headers = new Headers([...sent].filter(([name]) => !OF_BODY.test(name)));
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    const ends = AbortSignal.any([signal, ...(init.signal ? [init.signal] : [])]);
    const asked = new Request(new URL(`${PREFIX}${path}`, url), { ...init, headers, signal: ends });
    return api.fetch(asked, c.env);
  });
}

/** Headers that a request of a tool does not take over. */
const OF_BODY = /^(?:content-|transfer-|if-|accept|mcp-|connection$)/u;

/** Adds the documentation as texts for agents, which need no token. */
function addDocsForAgents(api: Hono<ApiEnv>, refuseNone: MiddlewareHandler<ApiEnv>): void {
  const writers = { '/llms.txt': 'writeIndex', '/llms-full.txt': 'writeAllDocs' } as const;
  for (const [path, writer] of Object.entries(writers)) {
    api.get(path, refuseNone, async (c) => {
      const docs = await import('../mcp/docs.ts');
      return c.text(docs[writer](docs.listDocs()));
    });
  }
}

function listPaths({ openAPIRegistry }: ReturnType<typeof createApiRoutes>) {
  return openAPIRegistry.definitions.flatMap((each) => {
    if (each.type !== 'route') {
      return [];
    }
    const path = PREFIX + each.route.path;
    const pattern = new RegExp(`^${path.replaceAll(/\{.+?\}/gu, '[^/]+')}$`, 'u');
    return [{ path, method: each.route.method.toUpperCase(), pattern }];
  });
}
