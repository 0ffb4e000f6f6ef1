import { deserialize, serialize } from 'node:v8';
import { MIB } from '../../domain/byte-sizes.ts';
import {
  endUnixNano,
  type LogRecord,
  type ReadingTerms,
  type Span,
  type TraceData,
} from '../../domain/trace/span.ts';
import { loadSqlite } from '../../store/embedded/file-lock.ts';

/** Memory for pages of the spool; what is beyond lies on disk, bytes. */
const CACHE_BYTES = 32 * MIB;

/** Most bytes of one trace that are read, as they are spooled. */
const MAX_TRACE_BYTES = 256 * MIB;

/** Greatest time that SQLite's integers hold, nanoseconds. */
const MAX_TIME = 2n ** 63n - 1n;

/** Times of a trace in the spool, and whether one of its spans failed. */
export interface SpooledTrace {
  readonly traceId: string;
  readonly firstStartUnixNano: bigint;
  readonly lastEndUnixNano: bigint;
  readonly errorSeen: boolean;
}

/** Times in [fromUnixNano, toUnixNano). */
export interface SpoolRange {
  readonly fromUnixNano: bigint;
  readonly toUnixNano: bigint;
  readonly limit: number;
}

/**
 * Traces of files, grouped with little memory: the spans of one trace may stand in many lines and files. They lie in a
 * temporary database, which the system removes when the process ends for any reason.
 */
export interface TraceSpool {
  /** Adds parts of traces. */
  add(parts: readonly TraceData[]): void;
  /** Returns the number of traces. */
  count(): number;
  /** Returns the known ones of some traces. */
  find(traceIds: readonly string[]): SpooledTrace[];
  /** Returns traces whose first span starts in a range, in the order of their start. */
  list(range: SpoolRange): SpooledTrace[];
  /** Returns all spans and log records of a trace; undefined for an unknown one. Of a huge trace, the rest is left out and counted. */
  read(traceId: string): TraceData | undefined;
  /** Returns the next traces in the order of their start that were neither taken nor marked. */
  take(limit: number): string[];
  /** Marks traces that need not be taken. */
  mark(traceIds: Iterable<string>): void;
  close(): void;
}

const SCHEMA = `
  PRAGMA journal_mode = OFF;
  PRAGMA synchronous = OFF;
  PRAGMA cache_size = -${CACHE_BYTES / 1024};
  CREATE TABLE traces (id TEXT PRIMARY KEY, start INTEGER, end INTEGER, failed INTEGER, taken INTEGER DEFAULT 0) WITHOUT ROWID;
  CREATE INDEX by_start ON traces (start, id);
  CREATE INDEX to_take ON traces (start, id) WHERE taken = 0;
  CREATE TABLE parts (trace TEXT, spans INTEGER, content BLOB);
  CREATE INDEX by_trace ON parts (trace);`;

/** Columns of a trace without spans, which has log records only, are null until its spans come. */
const ADD_TRACE = `
  INSERT INTO traces (id, start, end, failed) VALUES (?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET
    start = min(start, excluded.start), end = max(end, excluded.end), failed = max(failed, excluded.failed)`;

interface TraceRow {
  readonly id: string;
  readonly start: bigint;
  readonly end: bigint;
  readonly failed: bigint;
}

interface PartRow {
  readonly spans: number;
  readonly content: Uint8Array;
}

type Content = readonly [spans: readonly Span[], logs: readonly LogRecord[]];

/**
 * Opens an empty spool. Throws a `ConfigError` for a Node without SQLite.
 * @param terms settings with which its traces are read
 */
export function openTraceSpool(terms: ReadingTerms = {}): TraceSpool {
  const { DatabaseSync } = loadSqlite();
  // An empty name: a private database of this process, in memory until it outgrows the cache.
  const database = new DatabaseSync('');
  database.exec(SCHEMA);
  const addTrace = database.prepare(ADD_TRACE);
  const addPart = database.prepare('INSERT INTO parts (trace, spans, content) VALUES (?, ?, ?)');
  const countTraces = database.prepare('SELECT count(*) AS count FROM traces');
  const findTrace = database.prepare('SELECT id, start, end, failed FROM traces WHERE id = ?');
  const listTraces = database.prepare(
    'SELECT id, start, end, failed FROM traces WHERE start >= ? AND start < ? ORDER BY start, id LIMIT ?',
  );
  findTrace.setReadBigInts(true);
  listTraces.setReadBigInts(true);
  const readParts = database.prepare('SELECT spans, content FROM parts WHERE trace = ? ORDER BY rowid');
  const takeTraces = database.prepare('SELECT id FROM traces WHERE taken = 0 ORDER BY start, id LIMIT ?');
  const markTrace = database.prepare('UPDATE traces SET taken = 1 WHERE id = ? AND taken = 0');
  const inTransaction = (work: () => void) => {
    database.exec('BEGIN');
    work();
    database.exec('COMMIT');
  };
  const mark = (traceIds: Iterable<string>) =>
    inTransaction(() => {
      for (const traceId of traceIds) {
        markTrace.run(traceId);
      }
    });
  return {
    add: (parts) =>
      inTransaction(() => {
        for (const { traceId, spans, logs } of parts) {
          const { start, end, failed } = describeSpans(spans, logs);
          addTrace.run(traceId, start, end, failed);
          addPart.run(traceId, spans.length, serialize([spans, logs] satisfies Content));
        }
      }),
    count: () => Number(countTraces.get()?.['count'] ?? 0),
    find: (traceIds) =>
      traceIds.flatMap((traceId) => {
        const row = findTrace.get(traceId) as TraceRow | undefined;
        return row === undefined ? [] : [toSpooled(row)];
      }),
    list: ({ fromUnixNano, toUnixNano, limit }) =>
      (listTraces.all(limitTime(fromUnixNano), limitTime(toUnixNano), limit) as unknown as TraceRow[]).map(
        toSpooled,
      ),
    read: (traceId) => {
      const parts = readParts.iterate(traceId) as Iterable<unknown> as Iterable<PartRow>;
      const joined = joinParts(traceId, parts);
      return joined && { ...joined, ...terms };
    },
    take: (limit) => {
      const traceIds = takeTraces.all(limit).map(({ id }) => String(id));
      mark(traceIds);
      return traceIds;
    },
    mark,
    close: () => database.close(),
  };
}

function describeSpans(spans: readonly Span[], logs: readonly LogRecord[]) {
  const starts = [...spans.map((span) => span.startUnixNano), ...logs.map((log) => log.timeUnixNano)];
  const ends = [...spans.map(endUnixNano), ...logs.map((log) => log.timeUnixNano)];
  return {
    start: limitTime(starts.reduce((least, time) => (time < least ? time : least), MAX_TIME)),
    end: limitTime(ends.reduce((most, time) => (time > most ? time : most), 0n)),
    failed: spans.some((span) => span.statusCode === 'Error') ? 1 : 0,
  };
}

function limitTime(unixNano: bigint): bigint {
  return unixNano < -MAX_TIME ? -MAX_TIME : unixNano > MAX_TIME ? MAX_TIME : unixNano;
}

function toSpooled({ id, start, end, failed }: TraceRow): SpooledTrace {
  return { traceId: id, firstStartUnixNano: start, lastEndUnixNano: end, errorSeen: failed === 1n };
}

function joinParts(traceId: string, parts: Iterable<PartRow>): TraceData | undefined {
  const spans: Span[] = [];
  const logs: LogRecord[] = [];
  let bytes = 0;
  let omittedSpans = 0;
  let isKnown = false;
  for (const part of parts) {
    isKnown = true;
    bytes += part.content.byteLength;
    if (bytes > MAX_TRACE_BYTES) {
      omittedSpans += part.spans;
      continue;
    }
    const [moreSpans, moreLogs] = deserialize(part.content) as Content;
    moreSpans.forEach((span) => spans.push(span));
    moreLogs.forEach((log) => logs.push(log));
  }
  if (!isKnown) {
    return undefined;
  }
  return { traceId, spans, logs, size: bytes, ...(omittedSpans === 0 ? {} : { omittedSpans }) };
}
