import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { SECOND_MS } from '../../domain/durations.ts';
import { EngineError } from './engine-error.ts';
import type { EngineRequest } from './engine-request.ts';
import * as limits from './limits.ts';
import { atRevision } from './native-format.ts';
import type { ChdbResult, ChdbSession, PooledSession, SessionPool } from './session-pool.ts';
import type { ReplyFiles, Spool } from './spool.ts';
import { type InsertParts, sqlString } from './sql-statement.ts';
import { quoteName } from '../values.ts';

/** Reply of a statement: its chunks, and the counts known when they begin. */
export interface StatementReply {
  readonly format: string;
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly counts: { readonly read: ChdbResult | undefined; readonly written: ChdbResult | undefined };
}

/** Runs one statement concurrently with the others; used to cancel a statement. */
export type Control = (sql: string) => Promise<unknown>;

/** Parts that run a statement on a session that is lent. */
export interface LentParts {
  readonly control: Control;
  readonly replies: ReplyFiles;
  /** Ends this process for a reason, because a statement cannot be ended; its owner starts another one. */
  readonly replaceProcess: (reason: string) => void;
}

export interface RunnerParts extends LentParts {
  /** Sessions of spanscore's own statements. */
  readonly queries: SessionPool;
  /** Sessions of the statements of other programs. */
  readonly clients: SessionPool;
  readonly inserts: SessionPool;
  readonly spool: Spool;
}

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

/**
 * Waits for the first chunk, so that its error is the whole reply. The returned generator is entered already: its end is the end of
 * `chunks`, also when nobody reads on.
 */
async function beginReply(chunks: AsyncGenerator<Uint8Array>): Promise<AsyncGenerator<Uint8Array>> {
  const first = await chunks.next();
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield new Uint8Array();
      if (first.done !== true) {
        yield first.value;
        yield* chunks;
      }
    } finally {
      await chunks.return(undefined);
    }
  }
  const rest = all();
  await rest.next();
  return rest;
}

/** Runs a statement on a thread of its own: the event loop stays free for the other requests. */
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

async function runInsert(
  parts: RunnerParts,
  request: EngineRequest,
  insert: InsertParts,
  signal: AbortSignal,
): Promise<StatementReply> {
  const path = await parts.spool.write(request.data ?? yieldOnce(new Uint8Array()));
  try {
    // VALUES may be expressions, as slow as any other statement.
    const isForeign = !request.isOwn && insert.format.toLowerCase() === 'values';
    const pool = isForeign ? parts.clients : parts.inserts;
    const { session, finish } = await leasePooled(pool, request, signal);
    const sql = insertFromFile(insert, path, request.dataCompression);
    const written = await runWhole(session, sql, 'Null', finish);
    return { format: 'Null', chunks: yieldOnce(new Uint8Array()), counts: { read: undefined, written } };
  } finally {
    await parts.spool.remove(path);
  }
}

/** A statement that yields rows, or changes something and yields none. */
export interface Query {
  readonly sql: string;
  readonly format: string;
  /** True when it changes nothing, so that it may be cancelled. */
  readonly isRead: boolean;
  /** Index in `sql` of `INTO OUTFILE`, for a reply that goes through a file; undefined: the reply is taken into memory. */
  readonly outfileAt: number | undefined;
  readonly nativeRevision: number;
  /** Time limit, seconds; undefined: that of the engine alone. */
  readonly limitS: number | undefined;
}

/** Watch over one running statement. */
interface StatementWatch {
  /** Rejects when the statement cannot be cancelled. */
  readonly overdue: Promise<never>;
  /** Reason for which the watch has cancelled the statement. */
  readonly reason: () => EngineError | undefined;
  readonly end: () => void;
}

/**
 * Cancels the statement with the mark when its client goes away, its time is over, or its reply fills the disk. The engine hears this
 * between two blocks of rows. A block that takes too long costs the process.
 */
function watchStatement(
  { isRead, outfileAt, limitS }: Query,
  mark: string,
  { control, replies, replaceProcess }: LentParts,
  signal: AbortSignal,
): StatementWatch {
  const overdue = Promise.withResolvers<never>();
  overdue.promise.catch(() => undefined);
  let reason: EngineError | undefined;
  const cancel = (): void => {
    // A statement that has ended meanwhile is nothing to report.
    control(`KILL QUERY WHERE startsWith(query, ${sqlString(mark)}) ASYNC`).catch(() => undefined);
  };
  const cancelFor = (error: EngineError): void => {
    reason ??= error;
    cancel();
  };
  const timers: NodeJS.Timeout[] = [];
  if (isRead) {
    signal.addEventListener('abort', cancel, { once: true });
  }
  if (limitS !== undefined) {
    const text = `The statement ran longer than its limit of ${limitS} s`;
    const late = `${text}: make it read less, or send a larger max_execution_time in the URL`;
    const stuck = `${text} and could not be cancelled, so the engine starts again`;
    const limitMs = limitS * SECOND_MS;
    timers.push(
      setTimeout(
        () => cancelFor(new EngineError('TIMEOUT_EXCEEDED', late)),
        limitMs + limits.CANCEL_AFTER_MS,
      ),
      setTimeout(() => {
        reason = new EngineError('TIMEOUT_EXCEEDED', stuck);
        overdue.reject(reason);
        replaceProcess(stuck);
      }, limitMs + limits.REPLACE_AFTER_MS),
    );
  }
  if (outfileAt !== undefined) {
    const full = 'There is no room for the reply in the data directory: read less, or free space';
    const lookUp = async (): Promise<void> => {
      if (!(await replies.hasRoom())) {
        cancelFor(new EngineError('NOT_ENOUGH_SPACE', full));
      }
    };
    timers.push(setInterval(() => void lookUp().catch(() => undefined), limits.ROOM_CHECK_MS));
  }
  const end = (): void => {
    signal.removeEventListener('abort', cancel);
    timers.forEach(clearTimeout);
  };
  return { overdue: overdue.promise, reason: () => reason, end };
}

/** The rows of a reply: its bytes in memory, or a file that is removed at their end. */
async function* readReply(
  read: ChdbResult,
  path: string | undefined,
  replies: ReplyFiles,
): AsyncGenerator<Uint8Array> {
  if (path === undefined) {
    yield* yieldOnce(read.bytes());
    return;
  }
  try {
    yield* createReadStream(path);
  } finally {
    await replies.remove(path);
  }
}

function intoFile({ sql, format, outfileAt = sql.length }: Query, path: string): string {
  // The line break ends a comment.
  const head = `${sql.slice(0, outfileAt)}\nINTO OUTFILE ${sqlString(path)}`;
  return outfileAt === sql.length ? `${head} FORMAT ${format}` : `${head} ${sql.slice(outfileAt)}`;
}

/** Runs a statement on a session from the pool, and returns the session to the pool. */
export async function runLent(
  lent: Lease,
  query: Query,
  parts: LentParts,
  signal: AbortSignal,
): Promise<StatementReply> {
  if (signal.aborted) {
    await lent.finish('done');
    signal.throwIfAborted();
  }
  const { format, nativeRevision, outfileAt } = query;
  const mark = `/*${randomUUID()}*/ `;
  const path = outfileAt === undefined ? undefined : parts.replies.reserve();
  const watch = watchStatement(query, mark, parts, signal);
  const finish = async (outcome: Outcome): Promise<void> => {
    watch.end();
    await lent.finish(outcome);
  };
  try {
    const running =
      path === undefined
        ? runWhole(lent.session, mark + query.sql, format, finish)
        : runWhole(lent.session, mark + intoFile(query, path), 'Null', finish);
    const read = await Promise.race([running, watch.overdue]);
    const bytes = readReply(read, path, parts.replies);
    const chunks = await beginReply(nativeRevision > 0 ? atRevision(bytes, nativeRevision) : bytes);
    return { format, chunks, counts: { read, written: undefined } };
  } catch (error) {
    if (path !== undefined) {
      await parts.replies.remove(path);
    }
    throw watch.reason() ?? error;
  }
}

/** Returns the time limit of a read of another program, seconds; 0 asks for the longest. */
function readLimitS({ settings }: EngineRequest): number {
  const asked = Number(settings.get('max_execution_time') ?? limits.STATEMENT_LIMIT_S);
  return asked > 0 ? Math.min(asked, limits.MAX_STATEMENT_LIMIT_S) : limits.MAX_STATEMENT_LIMIT_S;
}

async function runQuery(
  parts: RunnerParts,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<StatementReply> {
  const { statement, nativeRevision, isOwn, isLargeReply } = request;
  const isRead = statement.kind === 'read';
  const query = {
    sql: statement.sql,
    format: statement.format ?? request.defaultFormat,
    isRead,
    outfileAt: isOwn && !isLargeReply ? undefined : statement.outfileAt,
    nativeRevision,
    limitS: isRead && !isOwn ? readLimitS(request) : undefined,
  };
  const lent = await leasePooled(isOwn ? parts.queries : parts.clients, request, signal);
  return runLent(lent, query, parts, signal);
}

/** Runs one request's statement. `signal` fires when the client has closed the connection. */
export type StatementRunner = (request: EngineRequest, signal: AbortSignal) => Promise<StatementReply>;

/** A runner over pools of sessions. Every statement leaves its session as it found it. */
export function createStatementRunner(parts: RunnerParts): StatementRunner {
  return (request, signal) =>
    request.statement.insert === undefined
      ? runQuery(parts, request, signal)
      : runInsert(parts, request, request.statement.insert, signal);
}

/**
 * End of a statement. Output of a failed statement stays in its connection and appears before the next reply (seen with chdb
 * 3.4.0), so a session is used again only after a statement that was read to its end.
 */
export type Outcome = 'done' | 'failed';

/** Session prepared for one request. */
export interface Lease {
  readonly session: ChdbSession;
  /** Resets and returns the session. Must be called once, when no statement runs on it. */
  readonly finish: (outcome: Outcome) => Promise<void>;
}

/** One `SET` of settings and of query parameters, and of the settings that get their default again; '' for none. */
function setStatement(
  settings: ReadonlyMap<string, string>,
  parameters: ReadonlyMap<string, string>,
  reset: Iterable<string>,
): string {
  const assignments = [
    ...[...settings].map(([name, value]) => `${name}=${sqlString(value)}`),
    ...[...reset].map((name) => `${name}=DEFAULT`),
    ...[...parameters].map(([name, value]) => `param_${name}=${sqlString(value)}`),
  ];
  return assignments.length === 0 ? '' : `SET ${assignments.join(', ')}`;
}

/** Returns the parameters that the statement names. Throws an `EngineError` for one without a value. */
function listParameters({ statement, parameters }: EngineRequest): Map<string, string> {
  const given = [...statement.parameters].map((name): [string, string] => {
    const value = parameters.get(name);
    if (value === undefined) {
      throw new EngineError('UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set`);
    }
    return [name, value];
  });
  return new Map(given);
}

/** Sets what the request needs and the session does not have: database, settings, parameters. */
async function prepare(
  { session, database, settings }: PooledSession,
  request: EngineRequest,
): Promise<void> {
  const use = request.database === database ? '' : `USE ${quoteName(request.database)}`;
  const changed = [...request.settings].filter(([name, value]) => settings.get(name) !== value);
  const left = [...settings.keys()].filter((name) => !request.settings.has(name));
  const set = setStatement(new Map(changed), listParameters(request), left);
  const prelude = [use, set].filter((statement) => statement !== '').join('; ');
  if (prelude !== '') {
    await session.queryAsync(prelude, { format: 'Null' });
  }
}

/** Prepares a session of the pool. A session whose settings cannot be changed (`readonly` locks them) is replaced by a new one. */
async function prepareChangeable(
  pool: SessionPool,
  lent: PooledSession,
  request: EngineRequest,
): Promise<PooledSession> {
  try {
    await prepare(lent, request);
    return lent;
  } catch (error) {
    if (lent.settings.size === 0) {
      pool.release(lent, true);
      throw error;
    }
  }
  const fresh = pool.replace(lent);
  try {
    await prepare(fresh, request);
    return fresh;
  } catch (error) {
    pool.release(fresh, true);
    throw error;
  }
}

/**
 * Lends a session of the pool for one request. The session keeps the settings of the request afterwards: most requests of a
 * client have the same ones, and each `SET` is a statement of its own.
 */
export async function leasePooled(
  pool: SessionPool,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const pooled = await prepareChangeable(pool, await pool.acquire(signal), request);
  pooled.database = request.database;
  pooled.settings = request.settings;
  const finish = async (outcome: Outcome): Promise<void> => {
    pool.release(pooled, outcome === 'failed' || request.statement.kind === 'session');
  };
  return { session: pooled.session, finish };
}
