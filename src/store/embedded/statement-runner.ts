import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ChdbResult, ChdbSession } from './sessions/chdb-session.ts';
import type { EngineRequest } from './engine-request.ts';
import type { NamedSessions } from './sessions/named-sessions.ts';
import { atRevision } from './native/native-revision.ts';
import { leaseNamed, leasePooled, type Lease, type Outcome } from './sessions/session-lease.ts';
import type { ReplyFiles } from './reply-files.ts';
import type { SessionPool } from './sessions/session-pool.ts';
import type { Spool } from './spool.ts';
import { sqlString, type InsertParts } from './sql-statement.ts';

/** Reply of a statement: its chunks, and the counts known when they begin. */
export interface StatementReply {
  readonly format: string;
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly counts: { readonly read: ChdbResult | undefined; readonly written: ChdbResult | undefined };
}

export interface RunnerParts {
  readonly queries: SessionPool;
  readonly inserts: SessionPool;
  readonly named: NamedSessions;
  readonly spool: Spool;
  readonly replies: ReplyFiles;
  readonly control: Control;
}

/** Formats without head, tail or separator: the chunks of their output can simply be joined. */
const STREAMED = new Set(
  [
    ['JSONEachRow', 'JSONLines', 'NDJSON', 'JSONStringsEachRow', 'JSONCompactEachRow'],
    ['JSONCompactStringsEachRow', 'TabSeparated', 'TSV', 'TabSeparatedRaw', 'TSVRaw', 'Raw', 'CSV'],
    ['RowBinary', 'Native', 'LineAsString'],
  ]
    .flat()
    .map((format) => format.toLowerCase()),
);

/** `INSERT … FROM INFILE`: the engine's data parser reads the file, its SQL parser never sees it. */
function insertFromFile(insert: InsertParts, path: string, compression: string | undefined): string {
  const compressed = compression === undefined ? '' : ` COMPRESSION ${sqlString(compression)}`;
  const settings = insert.settings === '' ? '' : ` ${insert.settings}`;
  return `${insert.head} FROM INFILE ${sqlString(path)}${compressed}${settings} FORMAT ${insert.format}`;
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) {
    yield bytes;
  }
}

async function* streamReply(session: ChdbSession, sql: string, format: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of session.queryStream(sql, { format })) {
    yield chunk.raw();
  }
}

/**
 * Begins a stream. Waits for the first chunk, which decides whether the reply is an error. Calls `finish` once, when the
 * engine has ended the statement with or without an error.
 */
async function beginReply(
  chunks: AsyncGenerator<Uint8Array>,
  finish: (outcome: Outcome) => Promise<void>,
): Promise<AsyncGenerator<Uint8Array>> {
  async function* all(first: IteratorResult<Uint8Array, unknown>): AsyncGenerator<Uint8Array> {
    let outcome: Outcome = 'failed';
    try {
      yield new Uint8Array();
      if (first.done !== true) {
        yield first.value;
        yield* chunks;
      }
      outcome = 'done';
    } finally {
      await chunks.return(undefined);
      await finish(outcome);
    }
  }
  let first: IteratorResult<Uint8Array, unknown>;
  try {
    first = await chunks.next();
  } catch (error) {
    await finish('failed');
    throw error;
  }
  // Entered at once, so that its `finally` runs even when nobody reads on.
  const rest = all(first);
  await rest.next();
  return rest;
}

/** Runs a statement whose whole reply is taken at once. */
async function runWhole(
  session: ChdbSession,
  sql: string,
  format: string,
  finish: (outcome: Outcome) => Promise<void>,
): Promise<ChdbResult> {
  let outcome: Outcome = 'failed';
  try {
    const result = await session.queryAsync(sql, { format });
    outcome = 'done';
    return result;
  } finally {
    await finish(outcome);
  }
}

/** Lends the session that the request names when it holds something or will, else one of the pool. */
function lease(
  parts: RunnerParts,
  pool: SessionPool,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const { session, statement } = request;
  if (session !== undefined && (statement.kind === 'session' || parts.named.holds(session.id))) {
    return leaseNamed(pool, parts.named, session, request, signal);
  }
  const database = request.database ?? 'default';
  return leasePooled(pool, { ...request, database }, signal);
}

async function runInsert(
  parts: RunnerParts,
  request: EngineRequest,
  insert: InsertParts,
  signal: AbortSignal,
): Promise<StatementReply> {
  const path = await parts.spool.write(request.data ?? yieldOnce(new Uint8Array()));
  try {
    const { session, finish } = await lease(parts, parts.inserts, request, signal);
    const sql = insertFromFile(insert, path, request.dataCompression);
    const written = await runWhole(session, sql, 'Null', finish);
    return { format: 'Null', chunks: yieldOnce(new Uint8Array()), counts: { read: undefined, written } };
  } finally {
    await parts.spool.remove(path);
  }
}

/** Runs one statement concurrently with the others; used to cancel a statement. */
export type Control = (sql: string) => Promise<unknown>;

/** Kills what carries the mark when the client goes away; returns what ends the watch. */
function killOnAbort(control: Control, mark: string, signal: AbortSignal): () => void {
  const kill = (): void => {
    const sql = `KILL QUERY WHERE startsWith(query, ${sqlString(mark)}) ASYNC`;
    // A statement that has ended meanwhile is nothing to report.
    control(sql).catch(() => undefined);
  };
  signal.addEventListener('abort', kill, { once: true });
  return () => signal.removeEventListener('abort', kill);
}

/** A statement that yields rows, or changes something and yields none. */
export interface Query {
  readonly sql: string;
  readonly format: string;
  /** True when it changes nothing, so that it may be cancelled. */
  readonly isRead: boolean;
  /** True when its rows may go out while it runs. */
  readonly mayStream: boolean;
  readonly nativeRevision: number;
}

/** The engine's bytes as the client reads them. */
function convertRevision(
  { nativeRevision }: Query,
  chunks: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  return nativeRevision > 0 ? atRevision(chunks, nativeRevision) : chunks;
}

/** Runs a statement on a session from the pool, and returns the session to the pool. */
export async function runLent(
  lent: Lease,
  query: Query,
  control: Control,
  signal: AbortSignal,
): Promise<StatementReply> {
  const mark = `/*${randomUUID()}*/ `;
  const unwatch = query.isRead ? killOnAbort(control, mark, signal) : () => undefined;
  const ended = async (outcome: Outcome): Promise<void> => {
    unwatch();
    await lent.finish(outcome);
  };
  const sql = mark + query.sql;
  if (signal.aborted) {
    await ended('done');
    signal.throwIfAborted();
  }
  if (query.mayStream && STREAMED.has(query.format.toLowerCase())) {
    const chunks = await beginReply(
      convertRevision(query, streamReply(lent.session, sql, query.format)),
      ended,
    );
    return { format: query.format, chunks, counts: { read: undefined, written: undefined } };
  }
  const read = await runWhole(lent.session, sql, query.format, ended);
  const chunks = await beginReply(convertRevision(query, yieldOnce(read.bytes())), () => Promise.resolve());
  return { format: query.format, chunks, counts: { read, written: undefined } };
}

async function runQuery(
  parts: RunnerParts,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<StatementReply> {
  const { statement, waitEndOfQuery, nativeRevision } = request;
  const isRead = statement.kind === 'read';
  const isSelect = isRead && /^[\s(]*(?:select|with)\b/iu.test(statement.sql);
  if (isSelect && request.isLargeReply) {
    return runToFile(parts, request, signal);
  }
  // A session that is broken off in the middle of a stream is lost; a named one has to last.
  const isNamed = request.session !== undefined && parts.named.holds(request.session.id);
  const query = {
    sql: statement.sql,
    format: statement.format ?? request.defaultFormat,
    isRead,
    mayStream: isSelect && !waitEndOfQuery && !isNamed,
    nativeRevision,
  };
  return runLent(await lease(parts, parts.queries, request, signal), query, parts.control, signal);
}

/** Runs a statement whose reply the engine writes to a file: its size does not matter, and the event loop stays free. */
async function runToFile(
  parts: RunnerParts,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<StatementReply> {
  const { sql, format = request.defaultFormat, formatAt } = request.statement;
  const path = parts.replies.reserve();
  const output = sql.slice(formatAt);
  const whole = `${sql.slice(0, formatAt)} INTO OUTFILE ${sqlString(path)} ${output === '' ? `FORMAT ${format}` : output}`;
  async function* readReply(): AsyncGenerator<Uint8Array> {
    try {
      yield* createReadStream(path);
    } finally {
      await parts.replies.remove(path);
    }
  }
  try {
    const lent = await lease(parts, parts.queries, request, signal);
    const query = { sql: whole, format: 'Null', isRead: true, mayStream: false, nativeRevision: 0 };
    const { counts } = await runLent(lent, query, parts.control, signal);
    return { format, chunks: await beginReply(readReply(), () => Promise.resolve()), counts };
  } catch (error) {
    await parts.replies.remove(path);
    throw error;
  }
}

/** Runs one request's statement. `signal` fires when the client has closed the connection. */
export type StatementRunner = (request: EngineRequest, signal: AbortSignal) => Promise<StatementReply>;

/** A runner over two pools of sessions. Every statement leaves its session as it found it, unless the client named it. */
export function createStatementRunner(parts: RunnerParts): StatementRunner {
  return async (request, signal) => {
    const { session, statement } = request;
    if (session !== undefined) {
      parts.named.note(session);
    }
    try {
      return statement.insert === undefined
        ? await runQuery(parts, request, signal)
        : await runInsert(parts, request, statement.insert, signal);
    } finally {
      if (session?.isLast === true) {
        parts.named.end(session.id);
      }
    }
  };
}
