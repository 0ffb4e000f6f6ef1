import { readClock } from '../spans/arrivals.ts';
import type { Database } from '../database.ts';
import { fromMillis, toDateTime } from '../values.ts';
import { AHEAD_MS, discoverRows, type Search } from './discover-rows.ts';
import { isMissingTable, type ForeignSchema, type ForeignTables } from './foreign-schema.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Range of every search, milliseconds; most spans arrive seconds after their end. */
const NEAR_MS = 60_000;

/** Interval of searches over the whole look-back, for late and long spans, milliseconds. */
const WIDE_EVERY_MS = 15_000;

/** Interval of writes of the position, milliseconds. */
const KEEP_EVERY_MS = 60_000;

/** Time range that one search covers after a pause. */
const CATCH_UP_MS = HOUR_MS;
const SMALLEST_STEP_MS = 60_000;

/** Finds new rows in tables without an arrival time. */
export interface Discovery {
  /** Searches once; calls at the same time share one search. Throws when a table cannot be read. */
  poll(): Promise<void>;
}

/**
 * Creates the search. It finds a row that arrives at most `lookbackMs` after the end of its span. Its position is stored:
 * after a pause it continues from there, in steps. Rows from before the first search count as arrived at their end, before
 * any rule was active: a table with months of history is not scored without a request.
 */
export function createDiscovery(
  database: Database,
  tables: ForeignTables,
  schema: () => Promise<ForeignSchema>,
): Discovery {
  return new TableSearch(database, tables, schema);
}

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

class TableSearch implements Discovery {
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
    const [row] = await this.#database.rows<{ until: string; searches: string }>(
      `SELECT toUnixTimestamp64Milli(max(PolledUntil)) AS until, count() AS searches FROM polled_tables
       WHERE Source = {source:String}`,
      { source: this.#tables.traces },
    );
    const until = Number(row?.searches ?? 0) === 0 ? null : fromMillis(row?.until ?? null);
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
      await this.#database.insertRows('polled_tables', [
        { Source: this.#tables.traces, PolledUntil: toDateTime(untilMs) },
      ]);
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
