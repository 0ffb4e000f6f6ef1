import type { ClickHouseSettings } from '@clickhouse/client';
import type { AgentSignals } from '../domain/trace/agent-signals.ts';
import type { ReadingTerms } from '../domain/trace/span.ts';
import type { ReadLimits } from './contracts/lists.ts';
import type { QueryParams } from './values.ts';
import type { KnownSignals } from './spans/agent-signal-sql.ts';

/** ClickHouse database over HTTP. Values reach a statement as parameters only. Every error is an `AppError`. */
export interface Database {
  readonly name: string;
  /** True for tables that several servers replicate. */
  readonly isReplicated: boolean;
  /** Settings with which every trace is read. */
  readonly reading: ReadingTerms;
  /** Signals of all conventions. */
  readonly signals: AgentSignals;
  /** Signals that mark arrivals of agents; replaced once the stored signals have been read. */
  agentSignals: KnownSignals;
  /** Returns rows as objects. A statement writes integers beyond 2^53 as texts (`toString`). */
  rows<Row>(sql: string, params?: QueryParams): Promise<Row[]>;
  /** Streams rows as arrays of columns, in batches as they arrive; 64-bit integers are texts. */
  stream(sql: string, params?: QueryParams): AsyncIterable<StreamedRow[]>;
  /** Streams the result of a statement that names its own format. Fails before the first byte, or not at all. */
  bytes(sql: string, params: QueryParams): AsyncIterable<Uint8Array>;
  /** Streams the result of a statement of a person; the embedded engine runs it apart from spanscore's statements. Fails like `bytes`. */
  userStatementBytes(sql: string, terms: UserStatementTerms): AsyncIterable<Uint8Array>;
  /**
   * Runs a statement without a result.
   * @param settings go before those that replicated tables need
   */
  command(sql: string, settings?: ClickHouseSettings): Promise<void>;
  /** Like `rows` and `command`, but outside of the database, which may not exist yet. */
  readonly outside: Pick<Database, 'rows' | 'command'>;
  /** Inserts JSON rows in one block; a repeat of the same rows, or of the same token, adds nothing. */
  insertRows(table: string, rows: readonly object[], token?: string): Promise<void>;
  /** Runs an `INSERT INTO … SELECT …`. */
  insertSelected(statement: string, params: QueryParams): Promise<void>;
  /**
   * Inserts a body in a binary format; `statement` is `INSERT INTO … FORMAT …`. A repeat with the same token adds nothing.
   */
  insertBody(statement: string, chunks: readonly Uint8Array[], token: string): Promise<void>;
  /** Returns the same database with reads that have limits of their own and their own connections. It closes with this one. */
  limitReads(limits: ReadLimits): Database;
  /** Checks that the server answers and the password is right. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Reads the first column of the first row; undefined without a row. */
export async function readValue<Value = number>(
  database: Pick<Database, 'rows'>,
  sql: string,
  params?: QueryParams,
): Promise<Value | undefined> {
  const [row] = await database.rows<Record<string, Value>>(sql, params);
  return row === undefined ? undefined : Object.values(row)[0];
}

/** Settings and limits of a statement of a person. */
export interface UserStatementTerms {
  readonly settings: ClickHouseSettings;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface StreamedRow {
  /** The columns as JSON. Its length is close to their size in memory. */
  readonly text: string;
  /** Parsed each time that they are asked for. */
  readonly columns: readonly unknown[];
}

/** Functions without their first parameter. */
export type Bound<Functions> = {
  [Name in keyof Functions]: Functions[Name] extends (database: Database, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

export function bind<Functions extends Record<string, (database: Database, ...rest: never[]) => unknown>>(
  database: Database,
  functions: Functions,
): Bound<Functions> {
  const bound = Object.entries(functions).map(([name, run]) => [
    name,
    (...rest: never[]) => run(database, ...rest),
  ]);
  return Object.fromEntries(bound) as Bound<Functions>;
}
