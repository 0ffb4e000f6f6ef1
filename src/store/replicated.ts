import { ClickHouseError, type ClickHouseSettings } from '@clickhouse/client';
import { ConfigError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { type Database, readValue } from './database.ts';

// `store.replicated`: the tables are replicated by several servers behind one address. A row that decides something is never lost or
// overlooked when the address goes from one replica to the next.

/** Tables that inserts of spans fill, themselves or by views: an insert returns when one replica has the rows. */
const SPAN_TABLES: ReadonlySet<string> = new Set([
  'otel_traces',
  'otel_logs',
  'trace_arrivals',
  'trace_activity',
  'trace_starts',
]);

/** Longest time for which an insert waits for a majority, and a change of tables for the other replicas, milliseconds. */
const WAIT_MS = 30_000;

/** Settings of every statement. */
const ALWAYS: ClickHouseSettings = {
  // A replica that lacks a row of a majority refuses, instead of an old answer.
  select_sequential_consistency: '1',
  // A change of tables waits for the other replicas. One that is away changes when it is back.
  distributed_ddl_output_mode: 'null_status_on_timeout',
  distributed_ddl_task_timeout: String(WAIT_MS / 1_000),
  lightweight_deletes_sync: '1',
};

/** Settings of an insert into a table that is no table of spans: one after the other, else reads could not be sequential. */
const BY_MAJORITY: ClickHouseSettings = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  insert_quorum_timeout: WAIT_MS,
};

export function replicatedSettings(sql: string): ClickHouseSettings {
  const target = /^\s*INSERT INTO (\w+)/u.exec(sql)?.[1];
  return target === undefined || SPAN_TABLES.has(target) ? ALWAYS : { ...ALWAYS, ...BY_MAJORITY };
}

/** Codes of replicas that did nothing yet: another insert waits for its majority, or the replica lacks a row of a majority. */
const BUSY_CODES: readonly string[] = ['286', '289'];

/** Pauses between tries, milliseconds: one insert waits for a majority at a time, which takes some milliseconds. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
const PATIENCE_MS = 10_000;

/** Runs a request with the settings that its statement needs. */
export type Send = <T>(sql: string, request: (settings: ClickHouseSettings) => Promise<T>) => Promise<T>;

/** Runs a request on tables that are not replicated. */
export const sendToServer: Send = (_, request) => request({});

/** Runs a request on replicated tables. Repeats it for 10 s while the replicas are busy with another insert into the same table. */
export const sendToReplicas: Send = async (sql, request) => {
  const settings = replicatedSettings(sql);
  const endMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await request(settings);
    } catch (error) {
      const isBusy = error instanceof ClickHouseError && BUSY_CODES.includes(error.code);
      if (!isBusy || performance.now() + pauseMs > endMs) {
        throw error;
      }
    }
    // Processes that met once would meet again after the same pause.
    await sleep(pauseMs * (0.5 + Math.random()));
  }
};

/**
 * Time for which Keeper remembers the tokens of inserts, seconds. Tokens also keep two processes from making the same choice, so they are
 * kept as long as on one server: until `replicated_deduplication_window` newer ones came.
 */
const REMEMBERED_S = 10 * 365 * 86_400;

const ENGINE = /^ENGINE = (?=\w*MergeTree\b)/mu;

/** Renders a statement of the schema for replicated tables. The server completes the path in Keeper and the name of the replica. */
export function renderReplicated(statement: string): string {
  return ENGINE.test(statement)
    ? renderDeduplication(statement.replace(ENGINE, 'ENGINE = Replicated'))
    : statement;
}

/** Replicated tables deduplicate by default, tables of one server only by a setting. */
function renderDeduplication(statement: string): string {
  const own = /non_replicated_deduplication_window = (\d+)/u;
  const window = Number(own.exec(statement)?.[1] ?? 0);
  const settings = `replicated_deduplication_window = ${window}, replicated_deduplication_window_seconds = ${REMEMBERED_S}`;
  if (own.test(statement)) {
    return statement.replace(own, settings);
  }
  return /^SETTINGS /mu.test(statement) ? `${statement}, ${settings}` : `${statement}\nSETTINGS ${settings}`;
}

/** Checks that the tables, if there are any, are those that the configuration names. Throws a `ConfigError` with the way out. */
export async function checkTables({ name, isReplicated, outside }: Database): Promise<void> {
  const sql = "SELECT engine FROM system.tables WHERE database = {name:String} AND name = 'otel_traces'";
  const engine = await readValue<string>(outside, sql, { name });
  const fault = engine === undefined ? undefined : findTableFault(name, engine, isReplicated);
  if (fault !== undefined) {
    throw new ConfigError(fault);
  }
}

/** Finds a difference between `store.replicated` and the engine of a table. ClickHouse Cloud has engines of its own for both. */
export function findTableFault(database: string, engine: string, isReplicated: boolean): string | undefined {
  if (engine.startsWith('Shared') || engine.startsWith('Replicated') === isReplicated) {
    return undefined;
  }
  return isReplicated
    ? `store.replicated: the tables of database "${database}" are not replicated (${engine}); set store.database to a new name, or remove store.replicated`
    : `store.replicated is missing: the tables of database "${database}" are replicated (${engine}); set store.replicated to true`;
}

/** Checks that the database creates each table on every replica. Throws a `ConfigError` with the statement that creates such a database. */
export async function requireReplicated({
  name,
  outside,
}: Pick<Database, 'name' | 'outside'>): Promise<void> {
  const sql = 'SELECT engine FROM system.databases WHERE name = {name:String}';
  const engine = await readValue<string>(outside, sql, { name });
  if (engine === undefined || !['Replicated', 'Shared'].includes(engine)) {
    const fault =
      engine === undefined
        ? 'does not exist'
        : `has the engine ${engine}, which creates tables on one server only`;
    throw new ConfigError(
      `store.replicated: database "${name}" ${fault}; create it on every replica: ${createStatement(name)}`,
    );
  }
}

function createStatement(database: string): string {
  return `CREATE DATABASE ${database} ON CLUSTER <cluster> ENGINE = Replicated('/clickhouse/databases/${database}', '{shard}', '{replica}')`;
}
