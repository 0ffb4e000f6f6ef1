import {
  type ActivityRow,
  findTrace,
  readActivity,
  readArrivals,
  readClock,
  toActivity,
} from '../spans/arrivals.ts';
import {
  joinTraceKey,
  MAX_KEYS,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../contracts/stores.ts';
import type { TraceListFilter, UnknownWord } from '../contracts/lists.ts';
import { type Database, readValue } from '../database.ts';
import { readFacts } from '../spans/facts.ts';
import { limitsFor, READ_LIMITS, readTraces } from '../spans/read-traces.ts';
import {
  listByStart,
  toNanos,
  type StartCandidate,
  type StartIndex,
  type StartRange,
} from '../spans/trace-starts.ts';
import type { TraceListing } from '../spans/traces-list.ts';
import { Discovery } from './discovery.ts';
import {
  type ForeignSchema,
  type ForeignTable,
  type ForeignTables,
  readForeignSchema,
} from './foreign-schema.ts';
import { foreignParams, foreignTables, readBounds, type Remembered } from './foreign-tables.ts';
import { SPAN_KINDS, STATUS_CODES } from '../../domain/trace/span.ts';
import { KIND, quoteTexts, STATUS, COUNTS, END, agentSpanSql, START, WANTED_TRACES } from './foreign-rows.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import { readSlices } from '../spans/trace-keys.ts';

const HOUR_NS = 3_600_000_000_000n;

const SHORTEST_NS = 1_000_000_000n;

/** Most times by which a window is wider than the one before it. */
const WIDER = 4;

/** Most traces whose times are remembered after they were looked up, for the reads that follow. */
const MOST_REMEMBERED = 10_000;

/** Time for which the spans of a trace that was just looked up are read within its known times, milliseconds. */
const RECENT_MS = 60_000;

/** Windows of the search, milliseconds; the next one when the former has too few rows. */
const WINDOWS_MS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, Infinity];

/** Most rows of a table that are looked at, and most words of a column that are told. */
const MAX_ROWS = 100_000_000;

const MAX_WORDS = 5;

/**
 * Creates a source of spans in tables of the OpenTelemetry Collector's exporter, which are only read. `arrivals` writes new
 * rows to the arrivals of spanscore, and all work by arrival uses those. Traces that were never seen to arrive (history)
 * are looked up in the tables.
 */
export function createForeignSpans(database: Database, tables: ForeignTables) {
  const { schema, forget } = rememberedSchema(database, tables);
  const discovery = new Discovery(database, tables, schema);
  const activity = createTableActivity(database, schema);

  /** Reads the schema again after a failure: the tables may be gone, which the error then says, or created again. */
  async function poll(): Promise<void> {
    try {
      await discovery.poll();
    } catch (error) {
      forget();
      await schema();
      throw error;
    }
  }

  const tablesNow = async () => foreignTables(database, await schema(), activity.remembered);
  const starts = foreignStarts(database, schema, activity.inTable);

  const spans: SpanSource = {
    nowMs: () => readClock(database),
    arrivals: async (fromMs, toMs) => {
      await poll();
      return readArrivals(database, fromMs, toMs);
    },
    activity: activity.of,
    facts: async (keys, attributeKeys, options) =>
      readFacts(database, keys, attributeKeys, { ...options, tables: await tablesNow() }),
    read: async (keys, options) =>
      readTraces(database, keys, limitsFor(READ_LIMITS, options), await tablesNow()),
    list: async (range) => activity.asArrived(await listByStart(starts, range)),
    count: async (range) => countForeign(database, await schema(), range),
    findTrace: async (traceId) => {
      const arrived = await findTrace(database, traceId);
      return arrived.length > 0 ? arrived : [...(await activity.inTable([{ tenant: '', traceId }])).values()];
    },
  };
  const listing: TraceListing = {
    tables: tablesNow,
    newest: async (filter) => newestForeign(database, (await schema()).traces, filter),
    activity: (keys) => activity.of(keys),
  };
  return {
    spans,
    listing,
    /** Searches once: rows present now are past, later rows are new. Throws like `describe`. */
    watch: poll,
    /** Describes the source in one line. Throws like `readForeignSchema`. */
    describe: async () => describeSchema(tables, await schema()),
    /** Finds unknown words for status and kind in the table of spans. */
    unknownWords: async () => readUnknownWords(database, (await schema()).traces),
  };
}

/** Reads the schema once, and again after a failure or on request. */
function rememberedSchema(database: Database, tables: ForeignTables) {
  let known: Promise<ForeignSchema> | null = null;
  const forget = () => {
    known = null;
  };
  const schema = () => {
    known ??= readForeignSchema(database, tables).catch((error: unknown) => {
      forget();
      throw error;
    });
    return known;
  };
  return { schema, forget };
}

function describeSchema(tables: ForeignTables, { traces, logs, lookup }: ForeignSchema): string {
  const attributes = traces.attributes === 'map' ? 'maps' : 'JSON';
  const starts = lookup === null ? 'no table of trace starts' : 'its table of trace starts is used';
  return `${tables.traces} with attributes as ${attributes}, ${starts}; ${
    logs === null ? 'no logs' : `logs in ${tables.logs}`
  }`;
}

/** Finds the words for status and kind of spans that no reading knows. An absent word counts as unset. */
function readUnknownWords(database: Database, { name }: ForeignTable): Promise<UnknownWord[]> {
  const columns = [
    ['StatusCode', STATUS, STATUS_CODES],
    ['SpanKind', KIND, SPAN_KINDS],
  ] as const;
  const queries = columns.map(
    ([column, read, known]) => `(SELECT '${column}' AS column, ${read} AS word, count() AS rows
      FROM ${name} AS origin GROUP BY word HAVING word NOT IN ${quoteTexts(['', ...known])}
      ORDER BY count() DESC, word LIMIT ${MAX_WORDS})`,
  );
  return database.rows(
    `SELECT * FROM (${queries.join(' UNION ALL ')}) ORDER BY column DESC, rows DESC, word
      SETTINGS max_rows_to_read = ${MAX_ROWS}, read_overflow_mode = 'break'`,
  );
}

/** Traces by their last end, newest first: the table has no arrivals. */
async function newestForeign(
  database: Database,
  table: ForeignTable,
  filter: TraceListFilter,
): Promise<TraceKey[]> {
  const limit = Math.min(filter.limit, MAX_KEYS);
  if ((filter.tenant ?? '') !== '') {
    return [];
  }
  const sinceMs = filter.sinceMs ?? 0;
  const nowMs = await readClock(database);
  for (const windowMs of WINDOWS_MS) {
    const fromMs = Math.max(sinceMs, nowMs - windowMs);
    const rows = await database.rows<TraceKey>(
      `SELECT '' AS tenant, origin.TraceId AS traceId
       FROM ${table.name} AS origin
       WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND ${COUNTS}
         ${filter.service === undefined ? '' : 'AND origin.ServiceName = {service:String}'}
       GROUP BY traceId
       ORDER BY max(${END}) DESC, traceId
       LIMIT {limit:UInt32}`,
      { from: toNanos(fromMs), service: filter.service ?? '', limit },
    );
    if (rows.length === limit || fromMs <= sinceMs) {
      return rows;
    }
  }
  return [];
}

/** Activity of traces that arrived, and of those that were never seen to. Keyed by `joinTraceKey`. */
function createTableActivity(
  database: Database,
  schema: () => Promise<ForeignSchema>,
  monotonicMs: () => number = () => performance.now(),
) {
  const known = new Map<string, { activity: TraceActivity; foundMs: number }>();

  /** Reads activity by the table alone. */
  async function inTable(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const foundMs = monotonicMs();
    const found = await readForeignActivity(database, await schema(), keys);
    for (const [name, activity] of found) {
      known.delete(name);
      known.set(name, { activity, foundMs });
    }
    for (const name of known.keys()) {
      if (known.size <= MOST_REMEMBERED) {
        break;
      }
      known.delete(name);
    }
    return found;
  }

  /** Reads activity by arrivals where there are any, else by the table. */
  async function of(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const arrived = await readActivity(database, keys);
    const others = keys.filter((key) => !arrived.has(joinTraceKey(key)));
    return others.length === 0 ? arrived : new Map([...arrived, ...(await inTable(others))]);
  }

  /** Sets the arrivals of traces that arrived. */
  async function asArrived(activities: readonly TraceActivity[]): Promise<TraceActivity[]> {
    const arrived = await readActivity(database, activities);
    return activities.map((activity) => {
      const { firstArrivalMs, lastArrivalMs } = arrived.get(joinTraceKey(activity)) ?? activity;
      return { ...activity, firstArrivalMs, lastArrivalMs };
    });
  }

  /** Returns activity from an earlier look-up in the table. */
  function remembered(key: TraceKey): Remembered | undefined {
    const found = known.get(joinTraceKey(key));
    return found && { activity: found.activity, isRecent: monotonicMs() - found.foundMs < RECENT_MS };
  }

  return { of, inTable, asArrived, remembered };
}

/**
 * Activity of traces by their spans in a table without arrival times, keyed by `joinTraceKey`: each span counts as arrived when
 * it ended, or now when its clock is ahead. Traces that are not there are absent.
 */
async function readForeignActivity(
  database: Database,
  schema: ForeignSchema,
  keys: readonly TraceKey[],
): Promise<Map<string, TraceActivity>> {
  const wanted = keys.filter((key) => key.tenant === '');
  const rows = await readSlices(wanted, async (slice) => {
    const bounds = await readBounds(database, schema.lookup, { keys: slice, activities: [] });
    return database.rows<ActivityRow>(
      `SELECT '' AS tenant, origin.TraceId AS traceId,
         intDiv(least(min(${END}), toUnixTimestamp64Nano(now64(9))), 1000000) AS firstArrivalMs,
         intDiv(least(max(${END}), toUnixTimestamp64Nano(now64(9))), 1000000) AS lastArrivalMs,
         toString(min(${START})) AS firstStart,
         toString(max(${END})) AS lastEnd,
         toBool(max(origin.ParentSpanId = '')) AS rootSeen,
         toBool(max(${agentSpanSql(schema.traces, database.signals)})) AS agentSeen,
         toBool(max(${STATUS} = 'Error')) AS errorSeen
       FROM ${schema.traces.name} AS origin
       WHERE ${WANTED_TRACES} AND ${COUNTS}
       GROUP BY origin.TraceId`,
      foreignParams(slice, bounds),
    );
  });
  return new Map(rows.map((row) => [joinTraceKey(row), toActivity(row)]));
}

/**
 * Starts of traces in a table that is not ordered by them: read in windows of time, each as wide as the wanted traces need at the pace of the
 * window before. A trace with spans in several windows has a candidate in each.
 */
function foreignStarts(
  database: Database,
  schema: () => Promise<ForeignSchema>,
  activity: (keys: readonly TraceKey[]) => Promise<Map<string, TraceActivity>>,
): StartIndex {
  let widthNs = HOUR_NS;

  async function candidates(range: StartRange, after: StartCandidate, most: number) {
    const endNs = BigInt(toNanos(range.toMs));
    const fromNs = BigInt(after.start);
    if (fromNs >= endNs || (range.tenant ?? '') !== '') {
      return { found: [], next: null };
    }
    const windowEndNs = fromNs + widthNs < endNs ? fromNs + widthNs : endNs;
    const { traces } = await schema();
    const found = await database.rows<StartCandidate>(
      `SELECT min(${START}) AS first, toString(first) AS start, origin.TraceId AS traceId, '' AS tenant
       FROM ${traces.name} AS origin
       WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64})
         AND origin.Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND ${COUNTS}
       GROUP BY traceId
       HAVING (first, traceId) > ({from:Int64}, {afterTrace:String})
       ORDER BY first, traceId
       LIMIT {most:UInt32}`,
      { from: String(fromNs), to: String(windowEndNs), afterTrace: after.traceId, most },
    );
    const last = found.at(-1);
    if (found.length === most && last !== undefined) {
      const usedNs = 2n * (BigInt(last.start) - fromNs);
      widthNs = usedNs > SHORTEST_NS ? usedNs : SHORTEST_NS;
      return { found, next: last };
    }
    widthNs = BigInt(Math.round(Number(widthNs) * Math.min(WIDER, most / Math.max(1, found.length))));
    const next = windowEndNs < endNs ? { start: String(windowEndNs), traceId: '', tenant: '' } : null;
    return { found, next };
  }

  return { candidates, activity };
}

/** Estimates how many traces have a span that starts in the range: too few for a table that cannot be read in the time of a statement. */
async function countForeign(
  database: Database,
  { traces }: ForeignSchema,
  { tenant, fromMs, toMs }: Parameters<SpanSource['count']>[0],
): Promise<number> {
  if ((tenant ?? '') !== '') {
    return 0;
  }
  const sql = `SELECT uniq(origin.TraceId) FROM ${traces.name} AS origin
     WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64})
       AND origin.Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND ${COUNTS}
     SETTINGS timeout_overflow_mode = 'break'`;
  return (await readValue(database, sql, { from: toNanos(fromMs), to: toNanos(toMs) })) ?? 0;
}
