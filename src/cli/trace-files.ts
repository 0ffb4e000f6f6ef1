import { deserialize, serialize } from 'node:v8';
import { MIB } from '../domain/byte-sizes.ts';
import { DAY_MS } from '../domain/durations.ts';
import {
  endUnixNano,
  type LogRecord,
  type ReadingTerms,
  type Span,
  type TraceData,
} from '../domain/trace/span.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import { apiMode } from '../scoring/scoring-mode.ts';
import type { ScoringStores, Scoring } from '../scoring/scoring.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import { loadSqlite } from '../store/embedded/file-lock.ts';

/** Memory for pages of the spool; what is beyond lies on disk, bytes. */
const CACHE_BYTES = 32 * MIB;

/** Most bytes of one trace that are read, as they are spooled. */
const MAX_TRACE_BYTES = 256 * MIB;

/** Greatest time that SQLite's integers hold, nanoseconds. */
const MAX_TIME = 2n ** 63n - 1n;

/** Age of the last span of a recorded trace, longer than any wait: the trace counts as complete. */
const QUIET_MS = DAY_MS;

/** Traces that are scored together: one look-up, and few enough for their outcomes to stay in memory. */
const BATCH = 500;

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
 * Traces of files, grouped with little memory: the spans of one trace may stand in many lines and files. They lie in a
 * temporary database, which the system removes when the process ends for any reason.
 */
export type TraceSpool = ReturnType<typeof openTraceSpool>;

/**
 * Opens an empty spool. Throws a `ConfigError` for a Node without SQLite.
 * @param terms settings with which its traces are read
 */
export function openTraceSpool(terms: ReadingTerms = {}) {
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
    add: (parts: readonly TraceData[]) =>
      inTransaction(() => {
        for (const { traceId, spans, logs } of parts) {
          const { start, end, failed } = describeSpans(spans, logs);
          addTrace.run(traceId, start, end, failed);
          addPart.run(traceId, spans.length, serialize([spans, logs] satisfies Content));
        }
      }),
    count: () => Number(countTraces.get()?.['count'] ?? 0),
    find: (traceIds: readonly string[]) =>
      traceIds.flatMap((traceId) => (findTrace.get(traceId) as TraceRow | undefined) ?? []),
    /** Returns traces whose first span starts in [fromMs, toMs), in the order of their start. */
    list: ({ fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number }) =>
      listTraces.all(toNanos(fromMs), toNanos(toMs), limit) as unknown as TraceRow[],
    /** Returns all spans and log records of a trace; undefined for an unknown one. Of a huge trace, the rest is left out and counted. */
    read: (traceId: string): TraceData | undefined => {
      const parts = readParts.iterate(traceId) as Iterable<unknown> as Iterable<PartRow>;
      const joined = joinParts(traceId, parts);
      return joined && { ...joined, ...terms };
    },
    /** Returns the next traces in the order of their start that were neither taken nor marked. */
    take: (limit: number) => {
      const traceIds = takeTraces.all(limit).map(({ id }) => String(id));
      mark(traceIds);
      return traceIds;
    },
    /** Marks traces that need not be taken. */
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

function toNanos(ms: number): bigint {
  return limitTime(BigInt(Math.trunc(ms)) * 1_000_000n);
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

/** Nothing is stored, so no run is known and no agent has a past. */
const NO_RUNS: Pick<ScoringStores, 'runs' | 'agentPasts' | 'failures'> = {
  runs: { ofTraces: async () => new Map(), readUntil: async () => new Map(), write: async () => undefined },
  failures: { ofTraces: async () => new Map(), write: async () => undefined },
  agentPasts: { read: async () => new Map() },
};

/** Nothing is stored, so no budget knows the calls. */
const NO_JUDGE_CALLS: ScoringStores['judgeCalls'] = {
  write: async () => undefined,
  readSpending: async () => ({ bookedUsd: 0, reservedUsd: 0 }),
  listSpending: async () => [],
  spend: async () => undefined,
};

/**
 * Presents the traces of files as a store, so that the usual scoring path scores them. The traces are complete, have no
 * decisions, and nothing is stored.
 */
export function createSpoolStores(spool: TraceSpool, nowMs: number): ScoringStores {
  const none = async () => [];
  const nothing = async () => undefined;
  return {
    spans: {
      nowMs: async () => nowMs,
      arrivals: none,
      activity: async (keys) =>
        new Map(
          spool
            .find(keys.map(({ traceId }) => traceId))
            .map((trace) => [joinTraceKey(spooledKey(trace.id)), buildActivity(trace, nowMs)]),
        ),
      facts: async () => new Map(),
      read: async (keys) =>
        new Map(
          keys.flatMap(({ traceId }) => {
            const data = spool.read(traceId);
            return data === undefined ? [] : [[joinTraceKey(spooledKey(traceId)), data] as const];
          }),
        ),
      list: async (range) => spool.list(range).map((trace) => buildActivity(trace, nowMs)),
      count: async () => spool.count(),
      findTrace: none,
    },
    decisions: {
      ofTraces: async () => new Map(),
      write: nothing,
      undecided: none,
      due: none,
      heldBack: none,
    },
    scores: {
      byIds: async () => new Map(),
      ofTraces: async () => new Map(),
      write: nothing,
    },
    ...NO_RUNS,
    sessions: {
      undecided: none,
      activity: nothing,
      changed: none,
      list: none,
      find: none,
      turns: async () => ({ turns: [], count: 0 }),
      turnsOf: async () => [],
      decisions: none,
      resultTimes: none,
      scores: none,
      findIds: none,
    },
    ruleVersions: { list: none, record: nothing },
    versionSamples: { read: async () => new Map(), append: nothing, findInUse: async () => new Set() },
    judgeCalls: NO_JUDGE_CALLS,
  };
}

/** Returns the key of a trace of a file: it has no tenant. */
function spooledKey(traceId: string): TraceKey {
  return { tenant: '', traceId };
}

function buildActivity({ id, start, end, failed }: TraceRow, nowMs: number): TraceActivity {
  return {
    ...spooledKey(id),
    firstArrivalMs: nowMs - QUIET_MS,
    lastArrivalMs: nowMs - QUIET_MS,
    firstStartUnixNano: start,
    lastEndUnixNano: end,
    rootSeen: true,
    agentSeen: true,
    errorSeen: failed === 1n,
  };
}

/**
 * Scores the traces of a spool in the order of their start. A run that came as several traces is scored once, with the first of them,
 * however far apart they are. Yields the outcomes of each batch.
 */
export async function* scoreSpool(
  spool: TraceSpool,
  scoring: Scoring,
  rules: readonly PreparedRule[],
): AsyncGenerator<readonly TraceOutcome[]> {
  for (let traceIds = spool.take(BATCH); traceIds.length > 0; traceIds = spool.take(BATCH)) {
    const outcomes = await scoreTraces(scoring, traceIds.map(spooledKey), apiMode(rules, { write: false }));
    spool.mark(outcomes.flatMap(({ decisions }) => decisions.map(({ traceId }) => traceId)));
    yield outcomes;
  }
}
