import { HOUR_MS, SECOND_MS } from '../../domain/durations.ts';
import { sleep } from '../../domain/waits.ts';
import { type Database, readValue } from '../database.ts';
import { type DatabaseOptions, openDatabase } from '../open-database.ts';
import { listOwnTables, readSchemaStatus, refuseForeign } from '../schema/schema.ts';
import { readClock } from '../spans/arrivals.ts';

/** Longest time for the copy of one table, milliseconds. */
export const COPY_LIMIT_MS = 24 * HOUR_MS;

/** Longest time of an insert until its rows are visible in all tables, milliseconds. */
const INSERT_MS = 45 * SECOND_MS;
const LOOK_EVERY_MS = 100;

/** Opens the copies of the tables of an embedded engine, whose configuration allows its backups folder. */
export function openBackupStore(options: DatabaseOptions) {
  const database = openDatabase({ ...options, statementLimitMs: COPY_LIMIT_MS });
  return {
    /** Reads what a backup says about its store: the clock in Unix milliseconds, and the bytes of the tables on disk. */
    survey: async () => {
      const status = await readSchemaStatus(database);
      refuseForeign(status);
      const bytes = await readValue(
        database,
        `SELECT sum(bytes_on_disk) FROM system.parts
         WHERE database = currentDatabase() AND active AND table IN {tables:Array(String)}`,
        { tables: listDataTables() },
      );
      const nowMs = await readClock(database);
      return { database: database.name, schema: status.known, nowMs, bytes: bytes ?? 0 };
    },
    copy: (folder: string, onTable: (table: string) => void) => copy(database, folder, onTable),
    close: () => database.close(),
  };
}

/**
 * Copies every table into a folder, in the order in which a crash would leave them: what says that work was done before the work.
 * @param folder name within the backups folder of the engine
 * @param onTable is called before each table; it may throw to end the backup
 * @returns the names of the tables
 */
async function copy(
  database: Database,
  folder: string,
  onTable: (table: string) => void,
): Promise<readonly string[]> {
  const groups = orderTables();
  for (const group of groups) {
    await waitForInserts(database);
    for (const table of group) {
      onTable(table);
      // Each part keeps its own number of rows in a file of its own, also where another part has the same number.
      await database.command(
        `BACKUP TABLE ${database.name}.${table} TO File('${folder}/${table}') SETTINGS deduplicate_files = 0`,
      );
    }
  }
  return groups.flat();
}

/** Waits until inserts into the tables of the last group are visible in the tables that views fill, too. */
async function waitForInserts(database: Database): Promise<void> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < INSERT_MS) {
    const passedS = (performance.now() - startedAtMs) / SECOND_MS;
    const open = await readValue(
      database,
      `SELECT count() FROM system.processes WHERE query_kind IN ('Insert', 'AsyncInsertFlush') AND elapsed >= ${passedS}`,
    );
    if (open === undefined || open === 0) {
      return;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** Tables of processes that run. They mean nothing in another store. */
const OF_PROCESSES: ReadonlySet<string> = new Set(['members']);

/**
 * Tables that say that work was done, before the tables of that work: a decision before its score, progress before its results. What
 * they say is then true of the later copies.
 */
const FIRST = [
  'jobs',
  'progress',
  // Sums are of no more rows than are copied after them.
  'score_hours',
  'score_days',
  'decision_hours',
  'run_hours',
  'decisions',
  'scores',
  'runs',
];

/** Spans before their arrivals: no copied span is without its arrival. Tombstones last: they count for all other copies. */
const LAST = [
  ['otel_traces', 'otel_logs'],
  ['trace_arrivals'],
  ['trace_activity', 'trace_starts'],
  ['tombstones'],
];

/** Lists the tables that hold data of the installation, in no order. */
export function listDataTables(): string[] {
  return listOwnTables().filter((name) => !OF_PROCESSES.has(name));
}

/** Orders the tables of a backup. Before each group, inserts into the one before have to end: views fill its tables from those. */
export function orderTables(tables: readonly string[] = listDataTables()): string[][] {
  const placed = new Set([...FIRST, ...LAST.flat()]);
  const groups = [FIRST, tables.filter((name) => !placed.has(name)), ...LAST];
  return groups.map((group) => group.filter((name) => tables.includes(name)));
}
