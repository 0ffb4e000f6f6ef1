import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { ServerTls } from '../config/tls-files.ts';
import { limitConnections, type ConnectionLimits } from '../domain/connection-places.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { answerFull, answerUnaddressed, answerUnreadable } from './answer-unreadable.ts';

export interface ApiServerOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
  /** Answers a request. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly log: Log;
  readonly connections?: ConnectionLimits;
}

/** An API that listens. */
export interface ApiServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Answers the requests under way, then closes. */
  stop(): Promise<void>;
}

const HEADERS_LIMIT_MS = 10_000;
const REQUEST_LIMIT_MS = 30_000;
/** Interval of the checks of both limits, milliseconds. */
const LIMIT_CHECK_MS = 1_000;
/** A browser has six connections, a proxy as many as it has requests at once. */
const CONNECTIONS = { total: 512, perAddress: 256, kept: 8 };
/** Paths that are answered when all other places are taken. */
const PROBE = /^\/(?:healthz|readyz|metrics)(?:\?|$)/u;
const STOP_LIMIT_MS = 5000;

/** Listens for requests of the API. Throws an `AppError` when the port is in use. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const limits = {
    requestTimeout: REQUEST_LIMIT_MS,
    headersTimeout: HEADERS_LIMIT_MS,
    connectionsCheckingInterval: LIMIT_CHECK_MS,
  };
  const server =
    options.tls === undefined
      ? createServer(limits)
      : createTlsServer({ ...limits, ...options.tls, handshakeTimeout: HEADERS_LIMIT_MS });
  const begin = limitConnections(server, options.connections ?? CONNECTIONS);
  const answer = getRequestListener(options.fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => answerUnaddressed(error, options.log),
  });
  server.on('request', (request, response) => {
    // A reply that nobody reads does not keep the place.
    const { isKept, end } = begin(request.socket, () => request.complete && !response.writableEnded);
    response.once('close', end);
    if (isKept && !PROBE.test(request.url ?? '')) {
      answerFull(response);
    } else {
      void answer(request, response);
    }
  });
  server.on('clientError', (error, socket) => answerUnreadable(error, socket as Socket));
  const port = await listen(server, options);
  return { address: { host: options.host, port }, stop: async () => stop(server) };
}

async function listen(server: Server, options: ApiServerOptions): Promise<number> {
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
