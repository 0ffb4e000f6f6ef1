import { randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import type { ChdbResult } from './session-pool.ts';
import { EngineError, wireError } from './engine-error.ts';
import { type EngineRequest, readEngineRequest } from './engine-request.ts';
import { MAX_CONNECTIONS, MAX_HEADER_BYTES, SEND_TIMEOUT_MS } from './limits.ts';
import type { StatementReply, StatementRunner } from './statement-runner.ts';
import { limitConnections } from '../../domain/connection-places.ts';
import { sha256 } from '../../domain/identity.ts';

export interface FrontOptions {
  readonly username: string;
  readonly password: string;
  readonly run: StatementRunner;
  /** Called for each error of the engine, before the client gets it. */
  readonly onError: (error: unknown) => void;
}

/** Reads name and password from Basic authentication, ClickHouse's headers, or the URL. */
function readCredentials(request: IncomingMessage, url: URLSearchParams): string {
  const basic = /^Basic (.+)$/iu.exec(request.headers.authorization ?? '')?.[1];
  if (basic !== undefined) {
    return Buffer.from(basic, 'base64').toString('utf8');
  }
  const user = request.headers['x-clickhouse-user'] ?? url.get('user') ?? 'default';
  const key = request.headers['x-clickhouse-key'] ?? url.get('password') ?? '';
  return `${String(user)}:${String(key)}`;
}

function readCounts(result: ChdbResult | undefined): { rows: string; bytes: string } {
  return { rows: String(result?.rowsRead ?? 0), bytes: String(result?.bytesRead ?? 0) };
}

function formatSummary({ counts }: StatementReply): string {
  const all = readCounts(counts.read ?? counts.written);
  const written = readCounts(counts.written);
  const result = readCounts(counts.read);
  const elapsed = (counts.read ?? counts.written)?.elapsed ?? 0;
  return JSON.stringify({
    read_rows: all.rows,
    read_bytes: all.bytes,
    written_rows: written.rows,
    written_bytes: written.bytes,
    total_rows_to_read: '0',
    result_rows: result.rows,
    result_bytes: result.bytes,
    elapsed_ns: String(Math.round(elapsed * 1e9)),
  });
}

function sendError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const wire = wireError(error);
  response.writeHead(wire.status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': wire.code,
    // After an unread body, the server cannot find the beginning of the next request.
    ...(request.complete ? {} : { Connection: 'close' }),
  });
  response.end(`${wire.body}\n`);
}

type Encoder = () => Transform;

/** Encodings of replies, the cheapest first. lz4 is missing: a client that accepts only lz4 gets plain text. */
const ENCODERS = new Map<string, Encoder>([
  ['gzip', () => createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH })],
  ['zstd', () => createZstdCompress()],
  ['br', () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['deflate', () => createDeflate({ level: 1 })],
]);

function encoderFor(request: IncomingMessage, understood: EngineRequest) {
  if (!understood.compressReply) {
    return undefined;
  }
  const accepted = (request.headers['accept-encoding'] ?? '').toLowerCase().split(/[\s,;]+/u);
  const found = [...ENCODERS].find(([name]) => accepted.includes(name));
  return found === undefined ? undefined : { name: found[0], stream: found[1]() };
}

async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  understood: EngineRequest,
  reply: StatementReply,
): Promise<void> {
  const encoder = encoderFor(request, understood);
  response.writeHead(200, {
    'Content-Type': /^json/iu.test(reply.format)
      ? 'application/json; charset=UTF-8'
      : 'text/plain; charset=UTF-8',
    'X-ClickHouse-Format': reply.format,
    'X-ClickHouse-Summary': formatSummary(reply),
    ...(encoder === undefined ? {} : { 'Content-Encoding': encoder.name }),
  });
  response.setTimeout(SEND_TIMEOUT_MS, () => response.destroy());
  const source = Readable.from(reply.chunks, { objectMode: false });
  const stages = encoder === undefined ? [source] : [source, encoder.stream];
  // An error ends the connection, so that no reader takes the reply for complete.
  await pipeline([...stages, response]);
}

/** Returns the check of a request's name and password, in constant time. */
function authentication({ username, password }: FrontOptions) {
  const expected = sha256(`${username}:${password}`);
  return (request: IncomingMessage, parameters: URLSearchParams): void => {
    if (!timingSafeEqual(sha256(readCredentials(request, parameters)), expected)) {
      throw new EngineError(
        'AUTHENTICATION_FAILED',
        'Authentication failed: password is incorrect, or there is no user with such name',
      );
    }
  };
}

/** Creates the HTTP server of ClickHouse's protocol; it does not listen yet. */
export function createHttpFront(options: FrontOptions): Server {
  const authenticate = authentication(options);

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    parameters: URLSearchParams,
  ): Promise<void> {
    authenticate(request, parameters);
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) {
        gone.abort();
      }
    });
    const understood = await readEngineRequest(request, parameters);
    const reply = await options.run(understood, gone.signal);
    try {
      await sendReply(request, response, understood, reply);
    } finally {
      // Ends the statement of a reply that nobody reads.
      await reply.chunks.return(undefined);
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/', search = ''] = (request.url ?? '/').split(/\?(.*)/su);
    const parameters = new URLSearchParams(search);
    const queryId = parameters.get('query_id') ?? '';
    // Only an id that is valid in a header is sent back.
    response.setHeader('X-ClickHouse-Query-Id', /^[\w.:-]{1,200}$/u.test(queryId) ? queryId : randomUUID());
    response.setHeader('X-ClickHouse-Server-Display-Name', 'spanscore');
    response.setHeader('X-ClickHouse-Timezone', 'UTC');
    if (path !== '/' || (request.method === 'GET' && search === '')) {
      const isOk = path === '/ping' || path === '/';
      response.writeHead(isOk ? 200 : 404, { 'Content-Type': 'text/plain' });
      response.end(isOk ? 'Ok.\n' : 'There is no such path here; queries go to /\n');
      return;
    }
    try {
      await answer(request, response, parameters);
    } catch (error) {
      options.onError(error);
      if (response.headersSent) {
        response.destroy();
      } else {
        sendError(request, response, error);
      }
    }
  }

  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 10_000, keepAliveTimeout: 30_000 },
    (request, response) => {
      response.once('close', begin(request.socket, () => request.complete).end);
      void handle(request, response);
    },
  );
  // All clients have one address.
  const begin = limitConnections(server, { total: MAX_CONNECTIONS, perAddress: MAX_CONNECTIONS, kept: 0 });
  return server;
}
