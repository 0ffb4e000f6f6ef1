import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  type Server,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { limitConnections, formatPeer } from '../../src/domain/connection-places.ts';
import { SECOND_MS } from '../../src/domain/durations.ts';
import { AppError } from '../../src/domain/errors.ts';
import { connectionLimits } from '../limits.ts';
import type { MemoryLease } from '../memory-limiter.ts';
import type { Encoding, Signal } from '../otlp/decode-request.ts';
import { CONTENT_TYPES, encodeExportResponse, encodeStatus } from '../otlp/reply.ts';
import { readContentEncoding, decompress, readBody } from './request-body.ts';
import { HttpRefusal, toHttpFailure } from './http-refusal.ts';
import { listen } from './listen.ts';
import type { Authenticate, ListenOptions, OtlpReceiver, ReceiverDependencies } from './receiver.ts';
import type { Socket } from 'node:net';

const SIGNAL_OF_PATH = new Map<string, Signal | 'metrics'>([
  ['/v1/traces', 'traces'],
  ['/v1/logs', 'logs'],
  ['/v1/metrics', 'metrics'],
]);

/** Time in milliseconds for reading and dropping a refused body before its connection is closed. */
const LINGER_MS = 2_000;

/** Starts the OTLP/HTTP receiver. Port 0 means any free port. Throws a `ConfigError` when the address cannot be used. */
export async function startOtlpHttp(where: ListenOptions, deps: ReceiverDependencies): Promise<OtlpReceiver> {
  const { limits, log, metrics } = deps;
  let stopping = false;
  const serverOptions = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
  };
  const listener: RequestListener = (request, response) => {
    const { end } = begin(request.socket, () => request.complete && !response.writableEnded);
    response.once('close', end);
    void handle(request, deps).then((reply) => send(request, response, reply, stopping));
  };
  const server =
    where.tls === undefined
      ? createServer(serverOptions, listener)
      : createTlsServer(
          { ...serverOptions, ...where.tls, handshakeTimeout: limits.headersTimeoutMs },
          listener,
        );
  server.on('tlsClientError', (error) => log.debug('a TLS handshake failed', { error }));
  const stopServer = createStopper(server);
  const begin = limitConnections(server, connectionLimits(limits), () =>
    metrics.add('spanscore.receiver.connections.dropped', 1),
  );
  const address = await listen(server, where, 'receivers.otlp.http.endpoint');
  return {
    address,
    isListening: () => server.listening,
    stop: () => {
      stopping = true;
      return stopServer(limits.stopGraceMs);
    },
  };
}

interface Reply {
  readonly status: number;
  readonly encoding: Encoding;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Handles a request. Never rejects: every failure becomes a reply. */
async function handle(request: IncomingMessage, deps: ReceiverDependencies): Promise<Reply> {
  const { metrics, limiter, limits, log } = deps;
  const lease = limiter.lease();
  const startedMs = performance.now();
  metrics.add('spanscore.receiver.requests', 1);
  try {
    const reply = await answer(request, lease, deps);
    metrics.record('spanscore.receiver.duration', (performance.now() - startedMs) / SECOND_MS, {
      transport: 'http',
    });
    return reply;
  } catch (error) {
    const failure = toHttpFailure(error, limits.retryAfterMs);
    metrics.add('spanscore.receiver.requests.refused', 1, {
      reason: error instanceof AppError ? error.code : 'bug',
    });
    if (failure.status === 500) {
      log.error('a request failed because of a bug', { path: request.url, error });
    } else {
      log.debug('request refused', { status: failure.status, reason: failure.message });
    }
    const encoding = findEncoding(request.headers['content-type']) ?? 'json';
    const body = encodeStatus(encoding, failure.code, failure.message);
    return { status: failure.status, encoding, body, headers: failure.headers };
  } finally {
    lease.release();
  }
}

async function answer(
  request: IncomingMessage,
  lease: MemoryLease,
  deps: ReceiverDependencies,
): Promise<Reply> {
  const { maxBodyBytes } = deps.limits;
  refuseBrowser(request);
  const signal = readRoute(request);
  const tenant = readTenant(request, deps.authenticate);
  const encoding = findEncoding(request.headers['content-type']);
  if (encoding === undefined) {
    throw new HttpRefusal(
      415,
      `Content-Type ${request.headers['content-type'] ?? '(none)'} is not supported; use ${CONTENT_TYPES.protobuf} or ${CONTENT_TYPES.json}`,
    );
  }
  const compression = readContentEncoding(request.headers['content-encoding']);
  const announced = Number(request.headers['content-length'] ?? 0);
  const origin = { tenant, source: 'otlp-http' };
  // No variable here refers to the body, or it would stay in memory until the store has answered.
  const result = await readBody(request, announced, lease, maxBodyBytes)
    .then((sent) => decompress(sent, compression, lease, maxBodyBytes))
    .then((body) =>
      signal === 'metrics'
        ? deps.dropMetrics({ encoding, body }, lease)
        : deps.take({ signal, encoding, origin, body }, lease),
    );
  return { status: 200, encoding, body: encodeExportResponse(signal, encoding, result), headers: {} };
}

/** Refuses a request of a page in a browser, which always names its origin: any page could send spans into somebody's installation. */
function refuseBrowser({ headers: { origin } }: IncomingMessage): void {
  if (origin !== undefined) {
    throw new HttpRefusal(
      403,
      `pages in a browser may not send OTLP (the header Origin is ${JSON.stringify(origin)}); send it to a Collector that allows this origin, and from there without the header`,
    );
  }
}

function readRoute(request: IncomingMessage): Signal | 'metrics' {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const signal = SIGNAL_OF_PATH.get(path);
  if (signal === undefined) {
    throw new HttpRefusal(404, `there is no receiver at ${path}; send OTLP to /v1/traces and /v1/logs`);
  }
  if (request.method !== 'POST') {
    throw new HttpRefusal(405, `${request.method} is not allowed at ${path}; use POST`, { Allow: 'POST' });
  }
  return signal;
}

function readTenant(request: IncomingMessage, authenticate: Authenticate): string {
  const found = authenticate(request.headers);
  if ('tenant' in found) {
    return found.tenant;
  }
  throw new HttpRefusal(
    found.status,
    found.message,
    found.status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {},
  );
}

const ENCODING_OF_TYPE = new Map<string, Encoding>([
  [CONTENT_TYPES.protobuf, 'protobuf'],
  ['application/protobuf', 'protobuf'],
  [CONTENT_TYPES.json, 'json'],
]);

function findEncoding(contentType: string | undefined): Encoding | undefined {
  const [name = ''] = (contentType ?? '').split(';', 1);
  return ENCODING_OF_TYPE.get(name.trim().toLowerCase());
}

/**
 * Sends a reply. A stopping server closes its connections after their replies. A reply to a body that was not read to its
 * end also closes the connection, but a moment later, so that the sender finds the reply and not a broken connection.
 */
function send(request: IncomingMessage, response: ServerResponse, reply: Reply, last: boolean): void {
  if (response.destroyed) {
    return;
  }
  response.writeHead(reply.status, {
    ...reply.headers,
    ...(last || !request.complete ? { Connection: 'close' } : {}),
    'Content-Type': CONTENT_TYPES[reply.encoding],
    'Content-Length': reply.body.length,
  });
  if (request.complete) {
    response.end(reply.body);
    return;
  }
  response.write(reply.body);
  const finish = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, LINGER_MS);
  request.once('end', finish).once('close', finish).resume();
}

/**
 * Watches the connections of a server. Returns a function that stops it: no new connections; connections without a request
 * under way are closed at once, also a connection that never sent anything or is in a TLS handshake. A connection with a request
 * is closed after its reply or after the grace time.
 */
function createStopper(server: Server): (graceMs: number) => Promise<void> {
  const open = new Map<string, Socket>();
  const idle = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const peer = formatPeer(socket);
    open.set(peer, socket);
    idle.add(peer);
    socket.on('close', () => {
      open.delete(peer);
      idle.delete(peer);
    });
  });
  server.on('request', ({ socket }, response) => {
    const peer = formatPeer(socket);
    idle.delete(peer);
    response.on('close', () => {
      if (open.has(peer)) {
        idle.add(peer);
      }
    });
  });
  return async (graceMs) => {
    let timer: NodeJS.Timeout | undefined;
    const destroyAll = (peers: Iterable<string>): void => {
      for (const peer of peers) {
        open.get(peer)?.destroy();
      }
    };
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      destroyAll([...idle]);
      timer = setTimeout(() => destroyAll([...open.keys()]), graceMs);
    });
    clearTimeout(timer);
  };
}
