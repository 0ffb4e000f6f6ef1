import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { EngineError } from './engine-error.ts';
import { MAX_STATEMENT_BYTES } from './limits.ts';
import { parseStatement, type SqlStatement } from './sql-statement.ts';
import { decompressLz4 } from '../../wire/lz4.ts';

/** URL parameters that are no settings. */
const RESERVED = new Set(
  `query query_id database user password default_format session_id session_timeout session_check role compress
  decompress wait_end_of_query buffer_size quota_key stacktrace close_session client_protocol_version
  enable_http_compression send_progress_in_http_headers http_headers_progress_interval_ms
  cancel_http_readonly_queries_on_client_close`.split(/\s+/u),
);

/** One request, understood. */
export interface EngineRequest {
  readonly statement: SqlStatement;
  readonly database: string;
  readonly defaultFormat: string;
  readonly settings: ReadonlyMap<string, string>;
  /** Values of `{name:Type}` parameters, in the escaped form of TSV as the protocol has them. */
  readonly parameters: ReadonlyMap<string, string>;
  /** True for a request of spanscore itself, whose statements are known and have limits. */
  readonly isOwn: boolean;
  /** True when the reply may be larger than the memory (`buffer_size`): it goes through a file. */
  readonly isLargeReply: boolean;
  /** True when the reply may have a Content-Encoding. */
  readonly compressReply: boolean;
  /** The revision of the network protocol in which the client reads a Native reply; 0: as in files, or another format. */
  readonly nativeRevision: number;
  /** The data of an insert, and how it is compressed (`COMPRESSION` of the engine). */
  readonly data: AsyncIterable<Uint8Array> | undefined;
  readonly dataCompression: string | undefined;
}

/**
 * Application in the User-Agent of the clients that spanscore opens for itself. A client that sends statements of a person has another
 * one.
 */
export const OWN_APPLICATION = 'spanscore';

const COMPRESSIONS = ['gzip', 'deflate', 'br', 'zstd', 'lz4'];

function readCompression(request: IncomingMessage): string | undefined {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') {
    return undefined;
  }
  const name = encoding.replace(/^x-(?=gzip$)/u, '');
  if (!COMPRESSIONS.includes(name)) {
    throw new EngineError('NOT_IMPLEMENTED', `Unknown Content-Encoding '${encoding}'; use gzip or none`);
  }
  return name;
}

/** Refuses ClickHouse's own compression, which only clients of the native protocol need. */
function refuseBlocks(url: URLSearchParams): void {
  const asked = ['compress', 'decompress'].find((name) => url.get(name) === '1');
  if (asked !== undefined) {
    throw new EngineError(
      'NOT_IMPLEMENTED',
      `The embedded engine has no compressed blocks (${asked}=1): choose gzip or no compression in your client`,
    );
  }
}

function protocolRevision(url: URLSearchParams): number {
  const text = url.get('client_protocol_version') ?? '0';
  if (!/^\d{1,9}$/u.test(text)) {
    throw new EngineError('BAD_ARGUMENTS', `client_protocol_version '${text}' is no number`);
  }
  return Number(text);
}

/** JSON columns are written as text, because only then can every client read them. */
const JSON_SETTING = 'output_format_native_write_json_as_string';

function isNative(format: string): boolean {
  return format.toLowerCase() === 'native';
}

function namedValues(url: URLSearchParams): Record<'settings' | 'parameters', Map<string, string>> {
  const settings = new Map<string, string>();
  const parameters = new Map<string, string>();
  for (const [key, value] of url) {
    if (!/^\w+$/u.test(key)) {
      throw new EngineError(
        'BAD_ARGUMENTS',
        `URL parameter '${key}' is neither a setting nor a query parameter`,
      );
    }
    if (key.startsWith('param_')) {
      parameters.set(key.slice('param_'.length), value);
    } else if (!RESERVED.has(key)) {
      settings.set(key, value);
    }
  }
  return { settings, parameters };
}

/** A multipart body (long query parameters) becomes what it would be in the URL. */
async function mergeMultipart(request: IncomingMessage, url: URLSearchParams, body: Buffer): Promise<void> {
  const contentType = request.headers['content-type'] ?? '';
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new EngineError('INCORRECT_DATA', `The multipart body cannot be read: ${String(cause)}`);
    });
  for (const [name, value] of form) {
    if (typeof value !== 'string') {
      throw new EngineError(
        'NOT_IMPLEMENTED',
        `External table '${name}' in a multipart body is not supported`,
      );
    }
    url.set(name, value);
  }
}

/** Looks at bytes as characters of the same index, so that data behind an INSERT keeps its offsets; text goes back to UTF-8. */
function parseBody(body: Buffer): { statement: SqlStatement; data: Buffer | undefined } {
  const raw = body.toString('latin1');
  if (!/^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*insert\s/isu.test(raw.slice(0, 4096))) {
    return { statement: parseStatement(body.toString('utf8')), data: undefined };
  }
  const statement = parseStatement(raw);
  if (statement.insert === undefined) {
    return { statement: parseStatement(body.toString('utf8')), data: undefined };
  }
  const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
  const { head, settings, format, dataStart } = statement.insert;
  const insert = { head: utf8(head), settings: utf8(settings), format, dataStart };
  return { statement: { ...statement, sql: utf8(statement.sql), insert }, data: body.subarray(dataStart) };
}

async function* concatenated(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) {
    yield first;
  }
  yield* rest;
}

async function statementAndData(
  request: IncomingMessage,
  url: URLSearchParams,
): Promise<Pick<EngineRequest, 'statement' | 'data' | 'dataCompression'>> {
  const compression = readCompression(request);
  const isForm = (request.headers['content-type'] ?? '').startsWith('multipart/form-data');
  if (isForm) {
    await mergeMultipart(request, url, await readAll(request, MAX_STATEMENT_BYTES));
  }
  const query = url.get('query');
  if (query === null) {
    const body = decompressed(await readAll(request, MAX_STATEMENT_BYTES), compression, MAX_STATEMENT_BYTES);
    const { statement, data } = parseBody(body);
    return { statement, data: data && concatenated(data, [] as never), dataCompression: undefined };
  }
  const statement = parseStatement(query);
  if (statement.insert !== undefined) {
    const behind = query.slice(statement.insert.dataStart);
    const inline = Buffer.from(/^[\s;]*$/u.test(behind) ? '' : behind, 'utf8');
    if (inline.length > 0 && compression !== undefined) {
      throw new EngineError(
        'BAD_ARGUMENTS',
        'Data both in the URL and in a compressed body: send it in the body',
      );
    }
    return { statement, data: concatenated(inline, request), dataCompression: compression };
  }
  if (!isForm && (await readAll(request, MAX_STATEMENT_BYTES)).length > 0) {
    throw new EngineError('BAD_ARGUMENTS', 'The query in the URL takes no data, but the request has a body');
  }
  return { statement, data: undefined, dataCompression: undefined };
}

/** Reads a request up to the data of an insert, which is left to be streamed. Throws `EngineError` for what it refuses. */
export async function readEngineRequest(
  request: IncomingMessage,
  url: URLSearchParams,
): Promise<EngineRequest> {
  refuseBlocks(url);
  const work = await statementAndData(request, url);
  if (request.method === 'GET' && work.statement.kind !== 'read') {
    throw new EngineError('READONLY', 'Cannot execute this query by GET: use POST for statements that write');
  }
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const { settings, parameters } = namedValues(url);
  const defaultFormat = url.get('default_format') ?? header('x-clickhouse-format') ?? 'TabSeparated';
  const nativeRevision = isNative(work.statement.format ?? defaultFormat) ? protocolRevision(url) : 0;
  if (nativeRevision > 0 && !settings.has(JSON_SETTING)) {
    settings.set(JSON_SETTING, '1');
  }
  return {
    ...work,
    settings,
    parameters,
    database: url.get('database') ?? header('x-clickhouse-database') ?? 'default',
    defaultFormat,
    isOwn: header('user-agent')?.startsWith(`${OWN_APPLICATION} `) === true,
    isLargeReply: url.has('buffer_size'),
    compressReply: url.get('enable_http_compression') === '1',
    nativeRevision,
  };
}

/** All of a body, or `EngineError` when it has more than `maxBytes`. */
export async function readAll(data: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of data) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new EngineError(
        'QUERY_IS_TOO_LARGE',
        `A statement may have ${maxBytes} bytes; send the data of an insert in the body and the statement in the URL`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

const DECOMPRESS = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
  // The usual compression of inserts of clickhouse-connect.
  ['lz4', (body, { maxOutputLength }) => decompressLz4(body, maxOutputLength)],
]);

/** A compressed body, restored; `EngineError` when it is broken or larger than `maxBytes`. */
export function decompressed(body: Buffer, compression: string | undefined, maxBytes: number): Buffer {
  if (compression === undefined || body.length === 0) {
    return body;
  }
  const decompress = DECOMPRESS.get(compression);
  if (decompress === undefined) {
    throw new EngineError('NOT_IMPLEMENTED', `A statement cannot be compressed by ${compression}; use gzip`);
  }
  try {
    return decompress(body, { maxOutputLength: maxBytes });
  } catch (error) {
    throw new EngineError('INCORRECT_DATA', `The ${compression} body cannot be read: ${String(error)}`);
  }
}
