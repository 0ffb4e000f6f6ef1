import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AppError, messageOf } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { createReadiness, type ReadinessCheck } from './health.ts';
import { sendJson, sendProblem } from './problem.ts';

export interface ApiOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly checks: readonly ReadinessCheck[];
  readonly log: Log;
}

/** A listening API. */
export interface Api {
  readonly address: { readonly host: string; readonly port: number };
  /** Answers what is being asked, then closes. */
  stop(): Promise<void>;
}

interface Route {
  readonly method: 'GET';
  readonly path: string;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void> | void;
}

const HEADERS_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
const MAX_CONNECTIONS = 256;
const STOP_LIMIT_MS = 5000;

/** Serves health and readiness. Throws an `AppError` when the port is taken. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const routes = routesOf(options);
  const server = createServer({ requestTimeout: REQUEST_LIMIT_MS, headersTimeout: HEADERS_LIMIT_MS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      options.log.error('a request of the API failed', { error, url: request.url });
      if (response.headersSent) {
        response.destroy();
        return;
      }
      sendProblem(response, { status: 500, title: 'Internal error', detail: 'The log has the reason.' });
    });
  });
  const port = await listen(server, options);
  return { address: { host: options.host, port }, stop: async () => stop(server) };
}

/** One line a route. */
function routesOf(options: ApiOptions): readonly Route[] {
  const readiness = createReadiness(options.checks, options.log);
  return [
    { method: 'GET', path: '/healthz', handle: (_, response) => sendJson(response, 200, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/readyz',
      handle: async (_, response) => {
        const report = await readiness();
        sendJson(response, report.status === 'ready' ? 200 : 503, report);
      },
    },
  ];
}

async function answer(
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const here = routes.filter((route) => route.path === path);
  const route = here.find((candidate) => candidate.method === method);
  if (route !== undefined) {
    await route.handle(request, response);
    return;
  }
  if (here.length > 0) {
    const allow = [...here.map((candidate) => candidate.method), 'HEAD'].join(', ');
    sendProblem(
      response,
      { status: 405, title: 'Method not allowed', detail: `Allowed: ${allow}` },
      { allow },
    );
    return;
  }
  const known = routes.map((candidate) => candidate.path).join(', ');
  sendProblem(response, { status: 404, title: 'Not found', detail: `There are: ${known}` });
}

async function listen(server: Server, options: ApiOptions): Promise<number> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(options.port, options.host, listening.resolve);
  try {
    await listening.promise;
  } catch (cause) {
    const message = `the API cannot listen on ${options.host}:${options.port}: ${messageOf(cause)}; set api.endpoint to a free port`;
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
