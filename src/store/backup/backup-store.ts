import { HOUR_MS, SECOND_MS } from '../../domain/durations.ts';
import { sleep } from '../../domain/waits.ts';
import type { BackupStore, BackupSurvey, TableDigest } from '../contracts/backup.ts';
import type { Database } from '../database.ts';
import { openDatabase, type DatabaseOptions } from '../open-database.ts';
import { migrationStatus } from '../schema/migrate.ts';
import { readClock } from '../spans/arrivals.ts';
import { listDataTables, orderTables } from './backup-tables.ts';
import { readDigest } from './table-digest.ts';

/** Longest time for the copy of one table, milliseconds. */
export const COPY_LIMIT_MS = 24 * HOUR_MS;

/** Longest time of an insert until its rows are visible in all tables, milliseconds. */
const INSERT_MS = 45 * SECOND_MS;
const LOOK_EVERY_MS = 100;

/** Opens the copies of a store. The store must be an embedded engine, whose configuration allows its backups folder. */
export function openBackupStore(options: DatabaseOptions): BackupStore {
  const database = openDatabase({ ...options, statementLimitMs: COPY_LIMIT_MS });
  return {
    survey: () => survey(database),
    copy: (folder, onTable) => copy(database, folder, onTable),
    close: () => database.close(),
  };
}

async function survey(database: Database): Promise<BackupSurvey> {
  const { current } = await migrationStatus(database);
  const sizes = await database.rows<{ bytes: string }>(
    `SELECT sum(bytes_on_disk) AS bytes FROM system.parts
     WHERE database = currentDatabase() AND active AND table IN {tables:Array(String)} GROUP BY table`,
    { tables: listDataTables() },
  );
  const bytes = sizes.map((size) => Number(size.bytes));
  return {
    database: database.name,
    schema: current,
    nowMs: await readClock(database),
    bytes: bytes.reduce((sum, each) => sum + each, 0),
    largestBytes: Math.max(0, ...bytes),
  };
}

async function copy(
  database: Database,
  folder: string,
  onTable: (table: string) => void,
): Promise<Record<string, TableDigest>> {
  const { first, rest } = orderTables();
  const digests: Record<string, TableDigest> = {};
  for (const table of first) {
    onTable(table);
    await copyTable(database, folder, table);
  }
  await waitForInserts(database);
  for (const table of rest) {
    onTable(table);
    await copyTable(database, folder, table);
  }
  const check = `${database.name}_backup_check`;
  await database.outside.command(`DROP DATABASE IF EXISTS ${check} SYNC`);
  await database.outside.command(`CREATE DATABASE ${check} ENGINE = Atomic`);
  try {
    for (const table of [...first, ...rest]) {
      onTable(table);
      digests[table] = await readBack(database, { folder, table, check });
    }
  } finally {
    await database.outside.command(`DROP DATABASE IF EXISTS ${check} SYNC`);
  }
  return digests;
}

async function copyTable(database: Database, folder: string, table: string): Promise<void> {
  await database.command(`BACKUP TABLE ${database.name}.${table} TO File('${folder}/${table}')`);
}

/** Waits until inserts into the first tables are visible in the tables that views fill, too. */
async function waitForInserts(database: Database): Promise<void> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < INSERT_MS) {
    const passedS = (performance.now() - startedAtMs) / SECOND_MS;
    const [row] = await database.rows<{ open: string }>(
      `SELECT count() AS open FROM system.processes WHERE query_kind IN ('Insert', 'AsyncInsertFlush') AND elapsed >= ${passedS}`,
    );
    if (row === undefined || row.open === '0') {
      return;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** Restores a copy into another database and reads it whole: what was written can be read, and is what a restore will find. */
async function readBack(
  database: Database,
  { folder, table, check }: { readonly folder: string; readonly table: string; readonly check: string },
): Promise<TableDigest> {
  const copied = `${check}.${table}`;
  const restore = `RESTORE TABLE ${database.name}.${table} AS ${copied} FROM File('${folder}/${table}')`;
  await database.command(`${restore} SETTINGS structure_only = 1`);
  // A merge would remove superseded and expired rows before they are counted.
  await database.command(`SYSTEM STOP MERGES ${copied}`);
  await database.command(`${restore} SETTINGS create_table = 0`);
  const digest = await readDigest(database, copied);
  await database.command(`DROP TABLE ${copied} SYNC`);
  return digest;
}
