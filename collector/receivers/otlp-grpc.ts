import {
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type ServerHttp2Session,
} from 'node:http2';
import { limitConnections } from '../../src/domain/connection-places.ts';
import { SECOND_MS } from '../../src/domain/durations.ts';
import { AppError, type ErrorCode, InvalidInputError } from '../../src/domain/errors.ts';
import { connectionLimits, type CollectorLimits } from '../limits.ts';
import type { MemoryLease } from '../memory-limiter.ts';
import type { Signal } from '../otlp/decode-request.ts';
import { encodeExportResponse, STATUS_CODES, encodeRetryStatus } from '../otlp/reply.ts';
import { CONTENT_ENCODINGS, decompress, readBody, bodyTooLarge } from './request-body.ts';
import { listen } from './listen.ts';
import type { ListenOptions, OtlpReceiver, ReceiverDependencies } from './receiver.ts';
import { sessionStopper } from './stop-sessions.ts';

/** Error of a call that gRPC itself refuses: unknown method, encoding, credentials. */
class GrpcRefusal extends AppError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message, { code: 'input_invalid', stage: 'receive', retryable: false });
    this.status = status;
  }
}

const STATUS_OF_ERROR = new Map<ErrorCode, number>([
  ['input_invalid', STATUS_CODES.invalidArgument],
  ['store_rejected', STATUS_CODES.invalidArgument],
  ['input_too_large', STATUS_CODES.resourceExhausted],
  ['overloaded', STATUS_CODES.resourceExhausted],
  ['cancelled', STATUS_CODES.deadlineExceeded],
]);

/** Longest `grpc-message`, in characters, because it travels in HTTP/2 headers. */
const MAX_MESSAGE = 1_000;

/** Time in milliseconds for the peer to close an idle connection from its side. */
const GOODBYE_MS = 1_000;

const SIGNAL_OF_METHOD = new Map<string, Signal | 'metrics'>([
  ['/opentelemetry.proto.collector.trace.v1.TraceService/Export', 'traces'],
  ['/opentelemetry.proto.collector.logs.v1.LogsService/Export', 'logs'],
  ['/opentelemetry.proto.collector.metrics.v1.MetricsService/Export', 'metrics'],
]);

const CONTENT_TYPE = /^application\/grpc(\+proto)?(;|$)/i;
const HEADERS = {
  'content-type': 'application/grpc',
  'grpc-accept-encoding': ['identity', ...CONTENT_ENCODINGS].join(','),
};

/** Limit of calls at once on one connection, and the bytes that may come before they are acknowledged. */
const MAX_STREAMS = 128;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/** Time in milliseconds for reading and dropping a refused body before its call is closed. */
const LINGER_MS = 2_000;

// Own code, and no gRPC library: `@grpc/grpc-js` takes 1.1 to 1.9 times the CPU time for a call, and keeps the bytes of all unfinished
// messages beyond any limit over the calls. It has no zstd.

/**
 * Starts the OTLP/gRPC receiver: unary calls in plain HTTP/2, without a gRPC library, so that size, memory and credentials
 * are checked while the bytes arrive. Throws a `ConfigError` when the address cannot be used.
 */
export async function startOtlpGrpc(where: ListenOptions, deps: ReceiverDependencies): Promise<OtlpReceiver> {
  const { limits, log, metrics } = deps;
  const settings = { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: STREAM_WINDOW_BYTES };
  const server =
    where.tls === undefined
      ? createServer({ settings })
      : createSecureServer({ settings, ...where.tls, handshakeTimeout: limits.headersTimeoutMs });
  server.on('tlsClientError', (error) => log.debug('a TLS handshake failed', { error }));
  const stopServer = sessionStopper(server);
  const begin = limitConnections(server, connectionLimits(limits), () =>
    metrics.add('spanscore.receiver.connections.dropped', 1),
  );
  server.on('sessionError', (error) => log.debug('a gRPC connection failed', { error }));
  server.on('session', (session) => {
    session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    closeWhenIdle(session, limits);
    session.on('stream', (stream) => {
      // A reply that nobody reads does not keep the place.
      const isUnderWay = () => stream.readableEnded && !stream.writableEnded;
      stream.once('close', begin(session.socket, isUnderWay).end);
    });
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', (error) => log.debug('a gRPC call was interrupted', { error }));
    void handle(stream, headers, deps);
  });
  const address = await listen(server, where, 'receivers.otlp.grpc.endpoint');
  return { address, isListening: () => server.listening, stop: () => stopServer(limits.stopGraceMs) };
}

/** Handles a call. Never rejects: every failure becomes a status. */
async function handle(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  deps: ReceiverDependencies,
): Promise<void> {
  const { metrics, limiter, limits } = deps;
  if (!CONTENT_TYPE.test(headers['content-type'] ?? '')) {
    stream.respond({ ':status': 415 }, { endStream: true });
    closeAfterReply(stream);
    return;
  }
  const lease = limiter.lease();
  const timers = [
    setTimeout(() => {
      fail(stream, deadlineExceeded('the body of the call took too long'), deps);
      stream.close(constants.NGHTTP2_CANCEL);
    }, limits.requestTimeoutMs),
  ];
  const startedMs = performance.now();
  metrics.add('spanscore.receiver.requests', 1);
  try {
    const timeoutMs = grpcTimeoutMs(headers['grpc-timeout']?.toString());
    if (timeoutMs !== undefined && timeoutMs < limits.requestTimeoutMs) {
      timers.push(
        setTimeout(
          () => fail(stream, deadlineExceeded('the deadline of the call has passed'), deps),
          timeoutMs,
        ),
      );
    }
    reply(stream, await answer(stream, headers, lease, deps), limits.requestTimeoutMs);
    metrics.record('spanscore.receiver.duration', (performance.now() - startedMs) / SECOND_MS, {
      transport: 'grpc',
    });
  } catch (error) {
    fail(stream, error, deps);
  } finally {
    timers.forEach(clearTimeout);
    lease.release();
  }
}

async function answer(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  lease: MemoryLease,
  deps: ReceiverDependencies,
): Promise<Buffer> {
  const { maxBodyBytes } = deps.limits;
  const signal = buildSignal(headers[':path'] ?? '');
  const tenant = readTenant(headers, deps);
  const encoding = readEncoding(headers['grpc-encoding']?.toString());
  const announced = Number(headers['content-length'] ?? 0);
  const origin = { tenant, source: 'otlp-grpc' };
  // No variable here refers to the body, or it would stay in memory until the store has answered.
  const result = await readBody(stream, announced, lease, maxBodyBytes + GRPC_PREFIX_BYTES)
    .then((sent) => readMessage(sent, encoding, lease, maxBodyBytes))
    .then((body) =>
      signal === 'metrics'
        ? deps.dropMetrics({ encoding: 'protobuf', body }, lease)
        : deps.take({ signal, encoding: 'protobuf', origin, body }, lease),
    );
  return encodeExportResponse(signal, 'protobuf', result);
}

/** Reads the message of a call and decompresses it. */
async function readMessage(
  sent: Buffer,
  encoding: string,
  lease: MemoryLease,
  maxBodyBytes: number,
): Promise<Buffer> {
  const { compressed, bytes } = readGrpcMessage(sent, maxBodyBytes);
  if (compressed && encoding === '') {
    throw new GrpcRefusal(
      STATUS_CODES.internal,
      'the message is compressed, but the call has no grpc-encoding header',
    );
  }
  return compressed ? decompress(bytes, encoding, lease, maxBodyBytes) : bytes;
}

function buildSignal(path: string): Signal | 'metrics' {
  const signal = SIGNAL_OF_METHOD.get(path);
  if (signal === undefined) {
    throw new GrpcRefusal(
      STATUS_CODES.unimplemented,
      `there is no method ${path.slice(0, 200)}; spanscore receives traces and logs`,
    );
  }
  return signal;
}

function readTenant(headers: IncomingHttpHeaders, { authenticate }: ReceiverDependencies): string {
  const found = authenticate(headers);
  if ('tenant' in found) {
    return found.tenant;
  }
  const code = found.status === 401 ? STATUS_CODES.unauthenticated : STATUS_CODES.permissionDenied;
  throw new GrpcRefusal(code, found.message);
}

/** Returns the encoding, '' for none. */
function readEncoding(header: string | undefined): string {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') {
    return '';
  }
  if (!CONTENT_ENCODINGS.includes(name)) {
    throw new GrpcRefusal(
      STATUS_CODES.unimplemented,
      `grpc-encoding ${name.slice(0, 40)} is not supported; use ${CONTENT_ENCODINGS.join(', ')} or identity`,
    );
  }
  return name;
}

function isAnswered(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed || stream.headersSent;
}

/** Sends the reply. A sender that does not read it loses the call. */
function reply(stream: ServerHttp2Stream, message: Buffer, withinMs: number): void {
  if (isAnswered(stream)) {
    return;
  }
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), withinMs);
  stream.once('close', () => clearTimeout(timer));
  stream.respond({ ':status': 200, ...HEADERS }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(writeGrpcMessage(message));
}

function fail(stream: ServerHttp2Stream, error: unknown, deps: ReceiverDependencies): void {
  if (isAnswered(stream)) {
    return;
  }
  const { metrics, limits, log } = deps;
  const failure = toGrpcFailure(error, limits.retryAfterMs);
  metrics.add('spanscore.receiver.requests.refused', 1, {
    reason: error instanceof AppError ? error.code : 'bug',
  });
  if (failure.status === STATUS_CODES.internal) {
    log.error('a gRPC call failed because of a bug', { error });
  } else {
    log.debug('call refused', { status: failure.status, error });
  }
  stream.respond({ ':status': 200, ...HEADERS, ...failure.trailers }, { endStream: true });
  closeAfterReply(stream);
}

/** Reads and drops the rest of a refused body for a short time after the status was sent, then closes the call. */
function closeAfterReply(stream: ServerHttp2Stream): void {
  stream.resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), LINGER_MS);
  stream.once('close', () => clearTimeout(timer));
}

/**
 * Closes a connection after a time without calls, earlier when it never had one. Pings and endless headers do not keep it open. Calls
 * under way finish first.
 */
function closeWhenIdle(
  session: ServerHttp2Session,
  limits: Pick<CollectorLimits, 'headersTimeoutMs' | 'keepAliveTimeoutMs'>,
): void {
  let calls = 0;
  const wait = (ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      session.close();
      timer = setTimeout(() => session.destroy(), GOODBYE_MS);
    }, ms);
  let timer = wait(Math.min(limits.headersTimeoutMs, limits.keepAliveTimeoutMs));
  session.on('stream', (stream) => {
    calls++;
    clearTimeout(timer);
    stream.once('close', () => {
      calls--;
      if (calls === 0 && !session.closed) {
        timer = wait(limits.keepAliveTimeoutMs);
      }
    });
  });
  session.once('close', () => clearTimeout(timer));
}

interface GrpcFailure {
  readonly status: number;
  readonly trailers: Readonly<Record<string, string>>;
}

/**
 * Converts an error to a gRPC status. A sender retries RESOURCE_EXHAUSTED only with a `RetryInfo`: an overload has one, a
 * too large message has none.
 */
function toGrpcFailure(error: unknown, defaultRetryAfterMs: number): GrpcFailure {
  if (!(error instanceof AppError)) {
    return buildFailure(STATUS_CODES.internal, 'the collector failed; the reason is in the log of spanscore');
  }
  if (error instanceof GrpcRefusal) {
    return buildFailure(error.status, error.message);
  }
  const status =
    STATUS_OF_ERROR.get(error.code) ?? (error.retryable ? STATUS_CODES.unavailable : STATUS_CODES.internal);
  if (!error.retryable || status === STATUS_CODES.deadlineExceeded) {
    return buildFailure(status, error.message);
  }
  const details = encodeRetryStatus(status, error.message, error.retryAfterMs ?? defaultRetryAfterMs);
  return buildFailure(status, error.message, {
    'grpc-status-details-bin': details.toString('base64').replace(/=+$/, ''),
  });
}

function buildFailure(
  status: number,
  message: string,
  more: Readonly<Record<string, string>> = {},
): GrpcFailure {
  const text = encodeURIComponent(message.slice(0, MAX_MESSAGE).toWellFormed());
  return { status, trailers: { 'grpc-status': String(status), 'grpc-message': text, ...more } };
}

/** Bytes before a message: one byte that says whether it is compressed, and four bytes of length. */
export const GRPC_PREFIX_BYTES = 5;

/** The one message of a unary call: its bytes, and whether they are compressed. */
export interface GrpcMessage {
  readonly compressed: boolean;
  readonly bytes: Buffer;
}

/**
 * Reads the body of a unary call. Throws an `InvalidInputError`, or an `input_too_large` error for a message above
 * `maxBytes`.
 */
export function readGrpcMessage(body: Buffer, maxBytes: number): GrpcMessage {
  if (body.length < GRPC_PREFIX_BYTES) {
    throw new InvalidInputError('the call holds no message');
  }
  const flag = body.readUInt8(0);
  const size = body.readUInt32BE(1);
  if (size > maxBytes) {
    throw bodyTooLarge(maxBytes, 'the message');
  }
  if (flag > 1) {
    throw new InvalidInputError(`the message begins with ${flag} instead of 0 (plain) or 1 (compressed)`);
  }
  const bytes = body.subarray(GRPC_PREFIX_BYTES);
  if (bytes.length !== size) {
    throw new InvalidInputError(
      `the message has ${bytes.length} bytes, but its length field says ${size}: a call must have exactly one message`,
    );
  }
  return { compressed: flag === 1, bytes };
}

/** Frames an uncompressed reply. */
export function writeGrpcMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(GRPC_PREFIX_BYTES + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, GRPC_PREFIX_BYTES);
  return framed;
}

const MS_OF_UNIT = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** Parses a `grpc-timeout` header like `4999905u` to milliseconds. Returns undefined without a header. */
export function grpcTimeoutMs(header: string | undefined): number | undefined {
  if (header === undefined) {
    return undefined;
  }
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  const unitMs = MS_OF_UNIT.get(unit);
  if (digits === undefined || unitMs === undefined) {
    throw new InvalidInputError(`grpc-timeout ${header.slice(0, 40)} is no timeout`);
  }
  return Number(digits) * unitMs;
}

/** Creates the error for a sender whose deadline has passed, or whose body took too long. */
export function deadlineExceeded(message: string): AppError {
  return new AppError(message, { code: 'cancelled', stage: 'receive', retryable: true });
}
