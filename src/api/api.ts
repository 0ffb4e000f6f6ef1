import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { ServerTls } from '../config/tls-files.ts';
import type { Access, CheckAccess } from '../config/access.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import { createReadiness } from './health.ts';
import { sendJson, sendProblem } from './problem.ts';

export interface ApiOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
  /** Called for every route with a scope. */
  readonly checkAccess: CheckAccess;
  /** Current checks of the readiness. */
  readonly checks: () => readonly ReadinessCheck[];
  /** Current routes besides health and readiness. Default: none. */
  readonly routes?: () => CurrentRoutes;
  readonly log: Log;
}

/** Routes that answer now. */
export interface CurrentRoutes {
  readonly ready: readonly Route[];
  /** True while further routes will come: their paths are answered with 503. */
  readonly isStarting: boolean;
}

/** An API that listens. */
export interface Api {
  readonly address: { readonly host: string; readonly port: number };
  /** Answers the requests under way, then closes. */
  stop(): Promise<void>;
}

/** Sender of a request, by its token. */
export interface Caller {
  /** The only tenant whose rows the caller may read or change; undefined without tokens: all tenants. */
  readonly tenant: string | undefined;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Scope that the caller needs: `read` for stored rows, `admin` for changes, null: no token. */
  readonly scope: 'read' | 'admin' | null;
  handle(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> | void;
}

const HEADERS_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
const MAX_CONNECTIONS = 256;
const STOP_LIMIT_MS = 5000;

/** Serves health and readiness. Throws an `AppError` when the port is in use. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const ownRoutes = createOwnRoutes(options);
  const listRoutes = (): CurrentRoutes => {
    const { ready, isStarting } = options.routes?.() ?? { ready: [], isStarting: false };
    return { ready: [...ownRoutes, ...ready], isStarting };
  };
  const limits = { requestTimeout: REQUEST_LIMIT_MS, headersTimeout: HEADERS_LIMIT_MS };
  const server =
    options.tls === undefined
      ? createServer(limits)
      : createTlsServer({ ...limits, ...options.tls, handshakeTimeout: HEADERS_LIMIT_MS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request, response) => {
    answer(listRoutes(), options.checkAccess, request, response).catch((error: unknown) => {
      options.log.error('a request of the API failed', { error, url: request.url });
      if (response.headersSent) {
        response.destroy();
        return;
      }
      sendProblem(response, {
        status: 500,
        title: 'Internal error',
        detail: 'The log of spanscore has the reason.',
      });
    });
  });
  const port = await listen(server, options);
  return { address: { host: options.host, port }, stop: async () => stop(server) };
}

/** Creates the routes of health and readiness. */
function createOwnRoutes(options: ApiOptions): readonly Route[] {
  const readiness = createReadiness(options.checks, options.log);
  return [
    {
      method: 'GET',
      path: '/healthz',
      scope: null,
      handle: (_, response) => sendJson(response, 200, { status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/readyz',
      scope: null,
      handle: async (_, response) => {
        const report = await readiness();
        sendJson(response, report.status === 'ready' ? 200 : 503, report);
      },
    },
  ];
}

async function answer(
  { ready: routes, isStarting }: CurrentRoutes,
  checkAccess: CheckAccess,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const here = routes.filter((route) => route.path === path);
  const route = here.find((candidate) => candidate.method === method);
  if (route !== undefined) {
    const caller = authenticate(route, checkAccess, request, response);
    if (caller !== undefined) {
      await route.handle(request, response, caller);
    }
    return;
  }
  if (here.length > 0) {
    const methods = here.map((candidate) => candidate.method);
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
    sendProblem(
      response,
      { status: 405, title: 'Method not allowed', detail: `Allowed: ${allow}` },
      { allow },
    );
    return;
  }
  if (isStarting) {
    const detail = 'The process starts; GET /readyz says what it waits for.';
    sendProblem(response, { status: 503, title: 'Starting', detail }, { 'retry-after': '1' });
    return;
  }
  const known = [...new Set(routes.map((candidate) => candidate.path))].join(', ');
  sendProblem(response, { status: 404, title: 'Not found', detail: `The routes are: ${known}` });
}

/** Returns the caller. Without access it sends the refusal and returns undefined. */
function authenticate(
  { scope }: Route,
  checkAccess: CheckAccess,
  request: IncomingMessage,
  response: ServerResponse,
): Caller | undefined {
  const access: Access =
    scope === null ? { tenant: undefined } : checkAccess(request.headers.authorization, scope);
  if (!('status' in access)) {
    return access;
  }
  const { status, message } = access;
  const title = status === 401 ? 'Unauthorized' : 'Forbidden';
  const headers: Record<string, string> = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  sendProblem(response, { status, title, detail: message }, headers);
  return undefined;
}

async function listen(server: Server, options: ApiOptions): Promise<number> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(options.port, options.host, listening.resolve);
  try {
    await listening.promise;
  } catch (cause) {
    const message = `the API cannot listen on ${options.host}:${options.port}: ${readErrorMessage(cause)}; set api.endpoint to a free port`;
    throw new AppError(message, { code: 'config_invalid', stage: 'config', retryable: false, cause });
  }
  server.on('error', (error) => options.log.error('the API server reported an error', { error }));
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : options.port;
}

async function stop(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_LIMIT_MS);
  await closed.promise;
  clearTimeout(timer);
}
