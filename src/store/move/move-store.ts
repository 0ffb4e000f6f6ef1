import { randomUUID } from 'node:crypto';
import { AppError, InvalidInputError, StoreUnavailableError } from '../../domain/errors.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { COPY_LIMIT_MS } from '../backup/backup-store.ts';
import { listDataTables } from '../backup/backup-tables.ts';
import type { MoveStore, PassOptions, StampRange } from '../contracts/move.ts';
import type { Database } from '../database.ts';
import { openDatabase, type DatabaseOptions } from '../open-database.ts';
import { migrate, migrationStatus } from '../schema/migrate.ts';
import { applyRetention } from '../schema/retention.ts';
import { readDefinitions } from '../schema/table-definitions.ts';
import { hasTables, markFinished, markUnfinished, readUnfinished } from '../schema/unfinished-copy.ts';
import { readClock } from '../spans/arrivals.ts';
import type { StoreOptions } from '../store.ts';
import { compareBuckets, inBucket, type Difference } from './compare-buckets.ts';
import { readMovedTables, type MovedTable } from './moved-tables.ts';

/** Largest difference of the clocks, milliseconds: cursors of the source have to mean the same in the target. */
const CLOCK_SKEW_MS = 2 * SECOND_MS;

/** Most comparisons of one range until it must be equal. */
const MOST_ROUNDS = 6;

/** Opens a store and the database that its rows are copied to, which need not exist. */
export function openMoveStore(from: DatabaseOptions, to: StoreOptions): MoveStore {
  const source = openDatabase({ ...from, statementLimitMs: COPY_LIMIT_MS });
  const target = openDatabase({ ...to, statementLimitMs: COPY_LIMIT_MS });
  return {
    isComplete: async () => (await readUnfinished(target)) === undefined && (await hasTables(target)),
    prepare: () => prepare(source, target, to),
    nowMs: () => readClock(source),
    copy: (ranges, options) => copy({ source, target }, ranges, options),
    finish: () => finish(source, target),
    close: async () => {
      await Promise.all([source.close(), target.close()]);
    },
  };
}

async function prepare(source: Database, target: Database, { retention }: StoreOptions): Promise<void> {
  await refuseOldSchema(source);
  await refuseOtherClock(source, target);
  const unfinished = await readUnfinished(target);
  if (unfinished !== 'move' && (await hasTables(target))) {
    throw new InvalidInputError(
      `database "${target.name}" of the target has tables already: a move needs a new database; name another one with --database`,
    );
  }
  if (unfinished === undefined) {
    await target.outside.command(`CREATE DATABASE IF NOT EXISTS ${target.name} ENGINE = Atomic`);
    await markUnfinished(target, 'move');
  }
  await migrate(target);
  await applyRetention(target, await readDefinitions(target), retention);
  // Rows of the tables that views fill are copied, too.
  for (const view of await listViews(source)) {
    await target.command(`DETACH TABLE IF EXISTS ${view} PERMANENTLY SYNC`);
  }
  await setExpiry(target, 'STOP');
}

/**
 * Stops or starts the expiry of rows. The source may keep expired rows for hours: without them, the target would never become equal. The
 * server forgets this when it is started again.
 */
async function setExpiry(target: Database, change: 'STOP' | 'START'): Promise<void> {
  for (const table of listDataTables()) {
    await target.command(`SYSTEM ${change} TTL MERGES ${target.name}.${table}`);
  }
}

async function refuseOldSchema(source: Database): Promise<void> {
  const { current, known } = await migrationStatus(source);
  if (current !== known) {
    throw new InvalidInputError(
      `the store has schema version ${current}, but this version of spanscore needs ${known}: run spanscore migrate, and then move`,
    );
  }
}

async function refuseOtherClock(source: Database, target: Database): Promise<void> {
  const [here, there] = await Promise.all([readClock(source), readOutsideClock(target)]);
  if (Math.abs(here - there) > CLOCK_SKEW_MS) {
    throw new StoreUnavailableError(
      `the clock of the target differs by ${((there - here) / SECOND_MS).toFixed(1)} s from that of this store: set both clocks (NTP), because exporters and monitors go on from stored times`,
    );
  }
}

async function readOutsideClock({ outside }: Database): Promise<number> {
  const [row] = await outside.rows<{ now: string }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
  return Number(row?.now);
}

async function listViews(database: Database): Promise<string[]> {
  const views = await database.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'",
  );
  return views.map(({ name }) => name);
}

interface Stores {
  readonly source: Database;
  readonly target: Database;
}

async function copy(stores: Stores, ranges: readonly StampRange[], options: PassOptions): Promise<number> {
  let copied = 0;
  for (const table of await readMovedTables(stores.source)) {
    // The newest range first: its versions of rows take the place of those of older ranges.
    for (const range of table.stamp === undefined ? ranges.slice(-1) : ranges.toReversed()) {
      copied += await copyRange(stores, { table, range }, options);
    }
  }
  return copied;
}

interface TableRange {
  readonly table: MovedTable;
  readonly range: StampRange;
}

/** Copies what differs; in the last pass until nothing does. A copy that was interrupted differs, and is replaced. */
async function copyRange(
  stores: Stores,
  part: TableRange,
  { isLast, onProgress }: PassOptions,
): Promise<number> {
  const { table, range } = part;
  let copied = 0;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const differences = await compareBuckets(stores, table, range);
    for (const difference of differences) {
      onProgress(table.name);
      // A current row takes the place of its former version. What is left over has to be deleted.
      const isReplacing = table.isReplaced && difference.targetRows <= difference.sourceRows && round === 0;
      if (difference.targetRows > 0 && !isReplacing) {
        await remove(stores.target, part, difference);
      }
      await copyBucket(stores, part, difference);
      copied += difference.sourceRows;
    }
    if (!isLast || differences.length === 0) {
      return copied;
    }
  }
  throw new AppError(
    `the table ${table.name} of the target still differs after ${MOST_ROUNDS} copies: does another process write to the target?`,
    { code: 'store_rejected', stage: 'store', retryable: false, details: { table: table.name } },
  );
}

async function remove(target: Database, { table, range }: TableRange, { bucket }: Difference): Promise<void> {
  const { sql, params } = inBucket(table, range, bucket);
  const condition = sql
    .replaceAll('{day:Date}', `toDate('${params.day}')`)
    .replaceAll('{beginning:String}', `unhex('${Buffer.from(params.beginning).toString('hex')}')`);
  await target.command(`ALTER TABLE ${table.name} DELETE WHERE ${condition} SETTINGS mutations_sync = 1`);
}

async function copyBucket(
  { source, target }: Stores,
  { table, range }: TableRange,
  { bucket, sourceRows }: Difference,
): Promise<void> {
  if (sourceRows === 0) {
    return;
  }
  const names = table.columns.map((name) => `\`${name}\``).join(', ');
  const { sql, params } = inBucket(table, range, bucket);
  const rows = source.bytes(`SELECT ${names} FROM ${table.current} WHERE ${sql} FORMAT Native`, params);
  const chunks: Uint8Array[] = [];
  for await (const chunk of rows) {
    chunks.push(chunk);
  }
  // Another token each time: a bucket that was deleted is inserted again.
  await target.insertBody(`INSERT INTO ${table.name} (${names}) FORMAT Native`, chunks, randomUUID());
}

async function finish(source: Database, target: Database): Promise<void> {
  for (const view of await listViews(source)) {
    await target.command(`ATTACH TABLE IF NOT EXISTS ${view}`);
  }
  await setExpiry(target, 'START');
  await markFinished(target);
}
