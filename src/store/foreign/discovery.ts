import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import type { AgentSignals } from '../../domain/trace/agent-signals.ts';
import type { Database } from '../database.ts';
import { agentLogSql, COUNTS, END, logSignalNames, spanSignalNames, START, STATUS } from './foreign-rows.ts';
import {
  type ForeignSchema,
  type ForeignTable,
  type ForeignTables,
  isMissingTable,
} from './foreign-schema.ts';
import { readClock } from '../spans/arrivals.ts';
import { markDoneUntil, readDoneUntil } from '../tables/progress.ts';

/** Range of every search, milliseconds; most spans arrive seconds after their end. */
const NEAR_MS = 60_000;

/** Interval of searches over the whole look-back, for late and long spans, milliseconds. */
const WIDE_EVERY_MS = 15_000;

/** Interval of writes of the position, milliseconds. */
const KEEP_EVERY_MS = 60_000;

/** Time range that one search covers after a pause. */
const CATCH_UP_MS = HOUR_MS;
const SMALLEST_STEP_MS = 60_000;

/** Position of the search, by the store's clock. */
interface Position {
  readonly doneMs: number;
  /** Stored part of the position. */
  readonly keptMs: number;
  /** True when no process has searched these tables before. */
  readonly fresh: boolean;
  /** True when this process has searched them. */
  readonly searched: boolean;
}

/**
 * Finds new rows in tables without an arrival time: a row that arrives at most `lookbackMs` after the end of its span. Its position is
 * stored: after a pause it continues from there, in steps. Rows from before the first search count as arrived at their end, before any
 * rule was active: a table with months of history is not scored without a request.
 */
export class Discovery {
  readonly #database: Database;
  readonly #tables: ForeignTables;
  readonly #schema: () => Promise<ForeignSchema>;
  #position: Position | null = null;
  /** True when the table was created during the wait: all of its rows are new. */
  #wasAbsent = false;
  #stepMs = CATCH_UP_MS;
  #running: Promise<void> | null = null;

  constructor(database: Database, tables: ForeignTables, schema: () => Promise<ForeignSchema>) {
    this.#database = database;
    this.#tables = tables;
    this.#schema = schema;
  }

  /** Searches once; calls at the same time share one search. Throws when a table cannot be read. */
  poll(): Promise<void> {
    this.#running ??= this.#search().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #search(): Promise<void> {
    const schema = await this.#look();
    const nowMs = await readClock(this.#database);
    const position = (this.#position ??= await this.#begin(nowMs));
    if (!position.fresh) {
      await discoverRows(this.#database, schema, createNearSearch(nowMs));
    }
    if (!position.searched || nowMs - position.doneMs >= WIDE_EVERY_MS) {
      await this.#searchWide(schema, position, nowMs);
    }
  }

  async #look(): Promise<ForeignSchema> {
    try {
      return await this.#schema();
    } catch (error) {
      this.#wasAbsent ||= isMissingTable(error);
      throw error;
    }
  }

  async #begin(nowMs: number): Promise<Position> {
    const until = await readDoneUntil(this.#database, 'source', this.#tables.traces);
    const doneMs = Math.min(until ?? nowMs, nowMs);
    return { doneMs, keptMs: doneMs, fresh: until === null, searched: false };
  }

  /** Searches the look-back before the position and the time after it: all of it, or the next step after a pause. */
  async #searchWide(schema: ForeignSchema, position: Position, nowMs: number): Promise<void> {
    const { lookbackMs } = this.#tables;
    const untilMs = Math.min(nowMs, position.doneMs + this.#stepMs);
    const search: Search = {
      fromMs: position.doneMs - lookbackMs,
      toMs: untilMs === nowMs ? nowMs + AHEAD_MS : untilMs,
      usualMs: lookbackMs,
      long: true,
      past: position.fresh && !this.#wasAbsent,
    };
    await this.#discover(schema, search);
    const isKept = position.fresh || untilMs - position.keptMs >= KEEP_EVERY_MS;
    if (isKept) {
      await markDoneUntil(this.#database, 'source', this.#tables.traces, untilMs);
    }
    this.#position = {
      doneMs: untilMs,
      keptMs: isKept ? untilMs : position.keptMs,
      fresh: false,
      searched: true,
    };
  }

  /** Retries a step that is too large for the server as a smaller one. */
  async #discover(schema: ForeignSchema, search: Search): Promise<void> {
    try {
      await discoverRows(this.#database, schema, search);
      this.#stepMs = Math.min(CATCH_UP_MS, this.#stepMs * 2);
    } catch (error) {
      this.#stepMs = Math.max(SMALLEST_STEP_MS, this.#stepMs / 2);
      throw error;
    }
  }
}

function createNearSearch(nowMs: number): Search {
  return {
    fromMs: nowMs - NEAR_MS,
    toMs: nowMs + AHEAD_MS,
    usualMs: NEAR_MS,
    long: false,
    past: false,
  };
}

/** Range of a search: rows that ended in [fromMs, toMs), Unix milliseconds. */
export interface Search {
  readonly fromMs: number;
  readonly toMs: number;
  /** Spans that took longer are only found when `long`, milliseconds. */
  readonly usualMs: number;
  /** Also spans that took up to `LONGEST_SPAN_MS`. */
  readonly long: boolean;
  /** True: rows count as arrived at their end instead of now, for rows from before the first search. */
  readonly past: boolean;
}

/**
 * Rows with a clock ahead by more than this are found when their time comes. It limits how long before its end a span can
 * be found, and so how far back arrivals are searched for it.
 */
export const AHEAD_MS = HOUR_MS;
const CLOCK_STEP_MS = 300_000;

/** Longest span that is found at its end. */
export const LONGEST_SPAN_MS = DAY_MS;

/**
 * Writes new rows of the tables to `trace_arrivals` of spanscore, one row for each trace; from then on they are like
 * received spans. Skips spans that are already there, so that searches can be repeated and may overlap.
 */
export async function discoverRows(
  database: Pick<Database, 'insertSelected' | 'signals'>,
  schema: ForeignSchema,
  search: Search,
): Promise<void> {
  const { fromMs, toMs, usualMs } = search;
  const params = {
    fromNs: nanos(fromMs),
    knownFromNs: nanos(fromMs - AHEAD_MS - CLOCK_STEP_MS),
    toNs: nanos(toMs),
    usualFromNs: nanos(fromMs - usualMs),
    longFromNs: nanos(fromMs - LONGEST_SPAN_MS),
    usualNs: nanos(usualMs),
  };
  await database.insertSelected(spanStatement(schema.traces, search), params);
  if (schema.logs !== null) {
    await database.insertSelected(logStatement(schema.logs, search, database.signals), params);
  }
}

const INSERT = `INSERT INTO trace_arrivals
  (ArrivedAt, Tenant, TraceId, SpanIds, ParentIds, FirstStart, LastEnd, Signals, RootSeen, ErrorSeen)`;

/** An arrival's last end is that of its latest span, so no arrival of a span that ended in the range is left out. */
const KNOWN = `(SELECT sipHash128(TraceId, arrayJoin(SpanIds)) FROM trace_arrivals
  WHERE Tenant = '' AND LastEnd >= {fromNs:Int64} AND ArrivedAt >= fromUnixTimestamp64Nano({knownFromNs:Int64}))`;

/** Global: the table may be distributed, and other servers have no arrivals of ours. Hashes, since there may be millions. */
function isNew(id: string): string {
  return `sipHash128(origin.TraceId, ${id}) GLOBAL NOT IN ${KNOWN}`;
}

function arrivedAt({ past }: Search, lastEnd: string): string {
  return past ? `fromUnixTimestamp64Nano(least(${lastEnd}, toUnixTimestamp64Nano(now64(9))))` : 'now64(9)';
}

function spanStatement(table: ForeignTable, search: Search): string {
  const columns = `origin.TraceId AS id, origin.SpanId AS span, origin.ParentSpanId AS parent, ${START} AS start,
    ${END} AS end, ${spanSignalNames(table)} AS names, ${STATUS} = 'Error' AS error`;
  const rows = (started: string) => `SELECT ${columns} FROM ${table.name} AS origin
    WHERE ${started} AND ${END} >= {fromNs:Int64} AND ${END} < {toNs:Int64} AND ${COUNTS}
      AND ${isNew('origin.SpanId')}`;
  const usual = rows(`origin.Timestamp >= fromUnixTimestamp64Nano({usualFromNs:Int64})
      AND origin.Timestamp < fromUnixTimestamp64Nano({toNs:Int64})`);
  const long = rows(`origin.Timestamp >= fromUnixTimestamp64Nano({longFromNs:Int64})
      AND origin.Timestamp < fromUnixTimestamp64Nano({usualFromNs:Int64}) AND origin.Duration >= {usualNs:UInt64}`);
  return `${INSERT}
    SELECT ${arrivedAt(search, 'max(end)')}, '', id, groupUniqArray(span), groupUniqArrayIf(parent, parent != ''),
      min(start), max(end), groupUniqArrayArray(names), max(parent = ''), max(error)
    FROM (${search.long ? `${usual} UNION ALL ${long}` : usual})
    GROUP BY id`;
}

/** A record has no id: its time and span identify it. */
const LOG_ID = `concat('log:', toString(${START}), ':', origin.SpanId)`;

function logStatement(table: ForeignTable, search: Search, signals: AgentSignals): string {
  return `${INSERT}
    SELECT ${arrivedAt(search, 'max(start)')}, '', id, groupUniqArray(record), [], min(start), max(start), groupUniqArrayArray(names), 0, 0
    FROM (SELECT origin.TraceId AS id, ${LOG_ID} AS record, ${START} AS start,
        ${logSignalNames(table)} AS names FROM ${table.name} AS origin
      WHERE origin.Timestamp >= fromUnixTimestamp64Nano({fromNs:Int64})
        AND origin.Timestamp < fromUnixTimestamp64Nano({toNs:Int64}) AND ${COUNTS}
        AND (${agentLogSql(table, signals)}) AND ${isNew(LOG_ID)})
    GROUP BY id`;
}

const LATEST_MS = 9_223_372_036_854;

function nanos(ms: number): string {
  return String(BigInt(Math.trunc(Math.min(Math.max(ms, 0), LATEST_MS))) * 1_000_000n);
}
