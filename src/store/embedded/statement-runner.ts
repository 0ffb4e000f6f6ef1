import { randomUUID } from 'node:crypto';
import type { ChdbResult, ChdbSession } from './chdb-session.ts';
import { EngineError } from './engine-error.ts';
import type { EngineRequest } from './engine-request.ts';
import { atRevision } from './native-revision.ts';
import type { PooledSession, SessionPool } from './session-pool.ts';
import type { Spool } from './spool.ts';
import { sqlString, type InsertParts } from './sql-statement.ts';

/** What a statement yields: chunks of its reply, and what was counted by the time they begin. */
export interface StatementReply {
  readonly format: string;
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly counts: { readonly read: ChdbResult | undefined; readonly written: ChdbResult | undefined };
}

export interface RunnerParts {
  readonly queries: SessionPool;
  readonly inserts: SessionPool;
  readonly spool: Spool;
  /** Runs one statement beside all others: cancels by it. */
  readonly control: (sql: string) => Promise<unknown>;
}

/** Formats without head, tail or separator: chunks of them may follow each other as they come. */
const STREAMED = new Set(
  [
    ['JSONEachRow', 'JSONLines', 'NDJSON', 'JSONStringsEachRow', 'JSONCompactEachRow'],
    ['JSONCompactStringsEachRow', 'TabSeparated', 'TSV', 'TabSeparatedRaw', 'TSVRaw', 'Raw', 'CSV'],
    ['RowBinary', 'Native', 'LineAsString'],
  ]
    .flat()
    .map((format) => format.toLowerCase()),
);

function quotedName(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

/** `USE` and `SET` that put a session into the request's database, with its settings and parameters. */
function preludeOf(request: EngineRequest, currentDatabase: string): string {
  const { statement, settings, parameters, database } = request;
  const assignments = [...settings].map(([name, value]) => `${name}=${sqlString(value)}`);
  for (const name of statement.parameters) {
    const value = parameters.get(name);
    if (value === undefined) {
      throw new EngineError('UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set`);
    }
    assignments.push(`param_${name}=${sqlString(value)}`);
  }
  const use = database === currentDatabase ? [] : [`USE ${quotedName(database)}`];
  const set = assignments.length === 0 ? [] : [`SET ${assignments.join(', ')}`];
  return [...use, ...set].join('; ');
}

/**
 * How a statement ended. What a failed one had put out stays in its connection and comes out in front of the next reply
 * (seen with chdb 3.4.0), so a session is used again only after a statement that was read to its end.
 */
type Outcome = 'done' | 'failed';

/** A session prepared for one request. */
interface Lease {
  readonly session: ChdbSession;
  /** Gives the session back as it was before; to be called once, when nothing runs on it. */
  readonly finish: (outcome: Outcome) => Promise<void>;
}

/** Gives a session back without the request's settings; one that cannot be mended is replaced. */
async function giveBack(
  pool: SessionPool,
  pooled: PooledSession,
  request: EngineRequest,
  outcome: Outcome,
): Promise<void> {
  let spoilt = outcome === 'failed' || request.statement.kind === 'session';
  if (!spoilt && request.settings.size > 0) {
    const reset = [...request.settings.keys()].map((name) => `${name}=DEFAULT`).join(', ');
    await pooled.session.queryAsync(`SET ${reset}`, { format: 'Null' }).catch(() => {
      // Some settings (readonly) lock themselves; a new session has none of them.
      spoilt = true;
    });
  }
  pool.release(pooled, spoilt);
}

async function lease(pool: SessionPool, request: EngineRequest, signal: AbortSignal): Promise<Lease> {
  const pooled = await pool.acquire(signal);
  try {
    const prelude = preludeOf(request, pooled.database);
    if (prelude !== '') {
      await pooled.session.queryAsync(prelude, { format: 'Null' });
    }
    pooled.database = request.database;
  } catch (error) {
    pool.release(pooled, true);
    throw error;
  }
  return { session: pooled.session, finish: (outcome) => giveBack(pool, pooled, request, outcome) };
}

/** `INSERT … FROM INFILE`: the engine's data parser reads the file, its SQL parser never sees it. */
function insertFromFile(insert: InsertParts, path: string, compression: string | undefined): string {
  const compressed = compression === undefined ? '' : ` COMPRESSION ${sqlString(compression)}`;
  const settings = insert.settings === '' ? '' : ` ${insert.settings}`;
  return `${insert.head} FROM INFILE ${sqlString(path)}${compressed}${settings} FORMAT ${insert.format}`;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) {
    yield bytes;
  }
}

async function* streamed(session: ChdbSession, sql: string, format: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of session.queryStream(sql, { format })) {
    yield chunk.raw();
  }
}

/**
 * Begins a stream: its first chunk decides whether the reply is an error, so it is waited for. `finish` is called once,
 * when the engine has ended the statement, however that came about.
 */
async function begun(
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

function isStreamed(request: EngineRequest, format: string): boolean {
  const { kind, sql } = request.statement;
  const isSelect = kind === 'read' && /^[\s(]*(?:select|with)\b/iu.test(sql);
  const isWhole = request.waitEndOfQuery || isRevised(request, format);
  return isSelect && !isWhole && STREAMED.has(format.toLowerCase());
}

/** Whether the engine's bytes have to be made into those of the client's protocol revision. */
function isRevised(request: EngineRequest, format: string): boolean {
  return request.nativeRevision > 0 && format.toLowerCase() === 'native';
}

async function runInsert(
  parts: RunnerParts,
  request: EngineRequest,
  insert: InsertParts,
  signal: AbortSignal,
): Promise<StatementReply> {
  const path = await parts.spool.write(request.data ?? once(new Uint8Array()));
  try {
    const { session, finish } = await lease(parts.inserts, request, signal);
    const sql = insertFromFile(insert, path, request.dataCompression);
    const written = await runWhole(session, sql, 'Null', finish);
    return { format: 'Null', chunks: once(new Uint8Array()), counts: { read: undefined, written } };
  } finally {
    await parts.spool.remove(path);
  }
}

/** Kills what carries the mark when the client goes away; returns what ends the watch. */
function killOnAbort(parts: RunnerParts, mark: string, signal: AbortSignal): () => void {
  const kill = (): void => {
    const sql = `KILL QUERY WHERE startsWith(query, ${sqlString(mark)}) ASYNC`;
    // A statement that has ended meanwhile is nothing to report.
    parts.control(sql).catch(() => undefined);
  };
  signal.addEventListener('abort', kill, { once: true });
  return () => signal.removeEventListener('abort', kill);
}

async function runQuery(
  parts: RunnerParts,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<StatementReply> {
  const { statement } = request;
  const format = statement.format ?? request.defaultFormat;
  const { session, finish } = await lease(parts.queries, request, signal);
  const mark = `/*${randomUUID()}*/ `;
  const unwatch = statement.kind === 'read' ? killOnAbort(parts, mark, signal) : () => undefined;
  const ended = async (outcome: Outcome): Promise<void> => {
    unwatch();
    await finish(outcome);
  };
  const sql = mark + statement.sql;
  if (signal.aborted) {
    await ended('done');
    signal.throwIfAborted();
  }
  if (isStreamed(request, format)) {
    const chunks = await begun(streamed(session, sql, format), ended);
    return { format, chunks, counts: { read: undefined, written: undefined } };
  }
  const read = await runWhole(session, sql, format, ended);
  const bytes = isRevised(request, format) ? atRevision(read.bytes(), request.nativeRevision) : read.bytes();
  return { format, chunks: once(bytes), counts: { read, written: undefined } };
}

/** Runs one request's statement; `signal` fires when its client has gone. */
export type StatementRunner = (request: EngineRequest, signal: AbortSignal) => Promise<StatementReply>;

/** A runner over two pools of sessions. Every statement leaves its session as it found it. */
export function createStatementRunner(parts: RunnerParts): StatementRunner {
  return (request, signal) => {
    const { insert } = request.statement;
    return insert === undefined
      ? runQuery(parts, request, signal)
      : runInsert(parts, request, insert, signal);
  };
}
