import { StoreRejectedError } from '../../domain/errors.ts';
import type { RestoreSource, RestoreStore, TableDigest } from '../contracts/backup.ts';
import type { Database } from '../database.ts';
import { openDatabase } from '../open-database.ts';
import { migrate } from '../schema/migrate.ts';
import { readMigrations } from '../schema/migration-files.ts';
import { applyRetention, countArrivalDays } from '../schema/retention.ts';
import { readDefinitions } from '../schema/table-definitions.ts';
import { hasTables, markFinished, markUnfinished, readUnfinished } from '../schema/unfinished-copy.ts';
import type { StoreOptions } from '../store.ts';
import { COPY_LIMIT_MS } from './backup-store.ts';
import { orderTables } from './backup-tables.ts';
import { addMissingIndex } from './missing-index.ts';
import { listLiveMembers } from './live-members.ts';
import { reopenLostScores } from './reopen-lost-scores.ts';
import { readDigest } from './table-digest.ts';

/** Opens the database that a restore fills or repairs. It need not exist. */
export function openRestoreStore(options: StoreOptions): RestoreStore {
  const database = openDatabase({ ...options, statementLimitMs: COPY_LIMIT_MS });
  return {
    readState: () => readState(database),
    listLive: (ttlMs) => listLiveMembers(database, ttlMs),
    begin: () => markUnfinished(database, 'repair'),
    load: (source, onTable) => loadTables(database, options, source, onTable),
    repair: async (startedAtMs) => {
      await addMissingIndex(database, startedAtMs, countArrivalDays(options.retention.catchUpDays));
      return reopenLostScores(database);
    },
    finish: () => markFinished(database),
    close: () => database.close(),
  };
}

async function readState(database: Database): ReturnType<RestoreStore['readState']> {
  return (await readUnfinished(database)) ?? ((await hasTables(database)) ? 'used' : 'empty');
}

async function loadTables(
  database: Database,
  { retention }: StoreOptions,
  source: RestoreSource,
  onTable: (table: string) => void,
): Promise<void> {
  await database.outside.command(`DROP DATABASE IF EXISTS ${database.name} SYNC`);
  await database.outside.command(`CREATE DATABASE ${database.name} ENGINE = Atomic`);
  await markUnfinished(database, 'restore');
  await migrate(database, readMigrations().slice(0, source.schema));
  await applyRetention(database, await readDefinitions(database), retention);
  // A merge would remove superseded and expired rows before they are counted.
  await database.command('SYSTEM STOP MERGES');
  const { first, rest } = orderTables(Object.keys(source.tables));
  for (const table of [...first, ...rest]) {
    onTable(table);
    const copied = `${source.database}.${table} AS ${database.name}.${table} FROM File('${source.folder}/${table}')`;
    await database.command(
      `RESTORE TABLE ${copied} SETTINGS create_table = 0, allow_different_table_def = 1`,
    );
    refuseOther(table, await readDigest(database, table), source.tables[table]);
  }
  await database.command('SYSTEM START MERGES');
}

function refuseOther(table: string, found: TableDigest, expected: TableDigest | undefined): void {
  if (found.rows !== expected?.rows || found.checksum !== expected.checksum) {
    throw new StoreRejectedError(
      `the table ${table} of the backup is damaged: it has ${found.rows} rows with checksum ${found.checksum}, but backup.json says ${expected?.rows} with ${expected?.checksum}; restore another backup`,
      { table },
    );
  }
}
