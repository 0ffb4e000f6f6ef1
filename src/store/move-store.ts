import { InvalidInputError, StoreUnavailableError } from '../domain/errors.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { COPY_LIMIT_MS } from './backup/backup-store.ts';
import { listDataTables } from './backup/backup-tables.ts';
import type { Database } from './database.ts';
import { openDatabase, type DatabaseOptions } from './open-database.ts';
import { copyTable } from './schema/copy-rows.ts';
import { createSchema, readSchemaStatus, refuseForeign } from './schema/create-schema.ts';
import { applyRetention } from './schema/retention.ts';
import { readDefinitions } from './schema/table-definitions.ts';
import { hasTables, markFinished, markUnfinished, readUnfinished } from './schema/unfinished-copy.ts';
import type { StoreOptions } from './store.ts';

/** Largest difference of the clocks, milliseconds: cursors of the source have to mean the same in the target. */
const CLOCK_SKEW_MS = 2 * SECOND_MS;

export interface MoveOptions {
  /** Text that tells this source from others, for the mark of the target. */
  readonly sourceId: string;
  /** Called before each range. It may throw to end the move. */
  readonly onProgress: (table: string) => void;
  /** Ends the source, once all tables are equal and before the target can be used: they are never used both. */
  readonly endSource: () => void;
}

/**
 * Copies all tables of a store that nobody writes to into a new database. After a kill, the same call goes on. Returns the number of copied
 * rows; undefined when the target was complete before.
 */
export async function moveTables(
  from: DatabaseOptions,
  to: StoreOptions,
  options: MoveOptions & { readonly hasEnded: boolean },
): Promise<number | undefined> {
  const source = openDatabase({ ...from, statementLimitMs: COPY_LIMIT_MS });
  const target = openDatabase({ ...to, statementLimitMs: COPY_LIMIT_MS });
  try {
    if (options.hasEnded && (await readUnfinished(target)) === undefined && (await hasTables(target))) {
      return undefined;
    }
    const views = await prepare(source, target, { retention: to.retention, sourceId: options.sourceId });
    let copied = 0;
    // Tombstones first: no row of something that was deleted is without its tombstone.
    for (const table of ['tombstones', ...listDataTables().filter((one) => one !== 'tombstones')]) {
      copied += await copyTable({ source, target }, table, () => options.onProgress(table));
    }
    options.endSource();
    for (const view of views) {
      await target.command(`ATTACH TABLE IF NOT EXISTS ${view}`);
    }
    await setExpiry(target, 'START');
    await markFinished(target);
    return copied;
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

/** Creates the tables of the target, whose views are off. Returns the views. */
async function prepare(
  source: Database,
  target: Database,
  { retention, sourceId }: Pick<StoreOptions, 'retention'> & Pick<MoveOptions, 'sourceId'>,
): Promise<string[]> {
  const status = await readSchemaStatus(source);
  refuseForeign(status);
  if (status.state !== 'current') {
    throw new InvalidInputError(
      'the store lacks tables of this version: run spanscore migrate, and then move',
    );
  }
  const [here, there] = await Promise.all([readNow(source), readNow(target)]);
  if (Math.abs(here - there) > CLOCK_SKEW_MS) {
    throw new StoreUnavailableError(
      `the clock of the target differs by ${((there - here) / SECOND_MS).toFixed(1)} s from that of this store: set both clocks (NTP), because exporters and monitors go on from stored times`,
    );
  }
  const mark = `move of ${sourceId}`;
  if ((await readUnfinished(target)) !== mark) {
    if (await hasTables(target)) {
      throw new InvalidInputError(
        `database "${target.name}" of the target has tables already: a move needs a new database; name another one with --database`,
      );
    }
    await target.outside.command(`CREATE DATABASE IF NOT EXISTS ${target.name} ENGINE = Atomic`);
    await markUnfinished(target, mark);
  }
  await createSchema(target);
  await applyRetention(target, await readDefinitions(target), retention);
  const views = await source.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'",
  );
  // Rows of the tables that views fill are copied, too.
  for (const { name } of views) {
    await target.command(`DETACH TABLE IF EXISTS ${name} PERMANENTLY SYNC`);
  }
  await setExpiry(target, 'STOP');
  return views.map(({ name }) => name);
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

async function readNow({ outside }: Database): Promise<number> {
  const [row] = await outside.rows<{ now: string }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
  return Number(row?.now);
}
