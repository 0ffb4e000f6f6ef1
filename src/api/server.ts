import { createServer, type Server, STATUS_CODES, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { ServerTls } from '../config/tls-files.ts';
import { limitConnections, type ConnectionLimits } from '../domain/connection-places.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { PROBLEM_HEADERS, problemJson, type Problem } from './router.ts';

const BAD: Problem = { status: 400, title: 'Bad request', detail: 'this is no request of HTTP/1.1' };

const FAILED: Problem = {
  status: 500,
  title: 'Internal error',
  detail: 'The log of spanscore has the reason.',
};

const FULL: Problem = {
  status: 503,
  title: 'Too many connections',
  detail:
    'all connections of this address or of the API are in use; the last places are for /healthz, /readyz and /metrics',
};

/** Problems of requests that Node.js does not read to their end, by the code of its error. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    title: 'Too large',
    detail: 'the address and the headers are longer than 16 KiB; ask for less at a time',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    title: 'Took too long',
    detail: 'the request did not arrive within the limit of its time',
  },
};

/** Time for which the rest of such a request is read, so that its sender sees the answer, milliseconds. */
const REST_MS = 1_000;

export interface ApiServerOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly log: Log;
  readonly connections?: ConnectionLimits;
}

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

/** Answers a request that Node.js cannot read, and closes its connection. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = PROBLEMS[error.code ?? ''] ?? BAD;
  const body = problemJson(problem);
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
      ...Object.entries(PROBLEM_HEADERS).map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      `\r\n${body}`,
    ].join('\r\n'),
  );
  socket.resume();
  socket.setTimeout(REST_MS, () => socket.destroy());
}

/** Refuses a request on a connection that is kept for probes, and closes the connection. */
function answerFull(response: ServerResponse): void {
  response
    .writeHead(FULL.status, { ...PROBLEM_HEADERS, 'retry-after': '5', connection: 'close' })
    .end(problemJson(FULL));
}

/** Answers a request whose path and `Host` make no address. Any other error outside of the routes is logged, and becomes a 500. */
function answerUnaddressed(error: unknown, log: Log): Response {
  const isOfRequest = error instanceof RequestError;
  if (!isOfRequest) {
    log.error('a request of the API failed outside of its routes', { error });
  }
  const problem = isOfRequest
    ? { ...BAD, detail: `the path and the header Host make no address: ${readErrorMessage(error)}` }
    : FAILED;
  return new Response(problemJson(problem), { status: problem.status, headers: PROBLEM_HEADERS });
}
