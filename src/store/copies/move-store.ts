import { randomUUID } from 'node:crypto';
import { MIB } from '../../domain/byte-sizes.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { InvalidInputError, StoreRejectedError, StoreUnavailableError } from '../../domain/errors.ts';
import { readClock } from '../spans/arrivals.ts';
import { COPY_LIMIT_MS, listDataTables } from './backup-store.ts';
import type { Database } from '../database.ts';
import { type DatabaseOptions, openDatabase } from '../open-database.ts';
import {
  createSchema,
  hasTables,
  markFinished,
  markUnfinished,
  readDefinitions,
  readSchemaStatus,
  readUnfinished,
  refuseForeign,
} from '../schema/schema.ts';
import { applyRetention } from '../schema/table-settings.ts';
import type { StoreOptions } from '../store.ts';

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
  const [here, there] = await Promise.all([readClock(source.outside), readClock(target.outside)]);
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

/** Columns with the day of a row: stamps of the store. */
const STAMPS = ['ArrivedAt', 'WrittenAt', 'ChosenAt'];

/** Size of one range: it is in memory as a whole. */
const RANGE_BYTES = 32 * MIB;
const MOST_ROWS = 50_000;
const FEWEST_ROWS = 100;

/** Most copies of a table until both stores must agree. */
const MOST_ROUNDS = 6;

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly isKey: number;
  readonly engine: string;
}

/** Rows of a day whose divider begins with a text. */
interface Range {
  readonly day: string;
  readonly beginning: string;
  readonly amount: number;
  /** Sum of hashes: an older version of a row differs from the current one. */
  readonly checksum: string;
}

/** Table with the SQL of its ranges. */
interface Plan {
  readonly columns: string;
  readonly ranges: string;
  readonly inRange: (range: Range) => string;
  readonly from: string;
}

/**
 * Makes a table of the target equal to the table of the source, while nobody writes to either. A range that differs is deleted in the target and copied
 * again, so a copy that was killed leaves nothing twice. Returns the number of copied rows.
 * @param onRange is called before each range; it may throw to end the copy
 */
export async function copyTable(
  { source, target }: { readonly source: Database; readonly target: Database },
  table: string,
  onRange: () => void,
): Promise<number> {
  const plan = await planTable(source, table);
  let copied = 0;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const [here, there] = await Promise.all([source, target].map((each) => each.rows<Range>(plan.ranges)));
    const [expected, present] = [indexRanges(here ?? []), indexRanges(there ?? [])];
    const differing = [...new Map([...present, ...expected])].filter(
      ([key]) =>
        expected.get(key)?.amount !== present.get(key)?.amount ||
        expected.get(key)?.checksum !== present.get(key)?.checksum,
    );
    if (differing.length === 0) {
      return copied;
    }
    for (const [key, range] of differing) {
      onRange();
      if (present.has(key)) {
        await target.command(
          `ALTER TABLE ${table} DELETE WHERE ${plan.inRange(range)} SETTINGS mutations_sync = 2`,
        );
      }
      if (expected.has(key)) {
        const rows = `SELECT ${plan.columns} FROM ${plan.from} WHERE ${plan.inRange(range)} FORMAT Native`;
        const chunks: Uint8Array[] = [];
        for await (const chunk of source.bytes(rows, {})) {
          chunks.push(chunk);
        }
        // Another token each time: a range that was deleted is inserted again.
        await target.insertBody(`INSERT INTO ${table} (${plan.columns}) FORMAT Native`, chunks, randomUUID());
        copied += range.amount;
      }
    }
  }
  throw new StoreRejectedError(
    `the table ${table} of the target still differs after ${MOST_ROUNDS} copies: does another process write to the target?`,
    { table },
  );
}

function indexRanges(ranges: readonly Range[]): Map<string, Range> {
  return new Map(ranges.map((range) => [`${range.day} ${range.beginning}`, range]));
}

/** Plans the ranges of a table: days, divided by the beginning of the trace id or of a hash of the key. */
async function planTable(source: Database, table: string): Promise<Plan> {
  const columns = await source.rows<ColumnRow>(
    `SELECT name, type, is_in_sorting_key AS isKey,
       (SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}) AS engine
     FROM system.columns
     WHERE database = currentDatabase() AND table = {table:String} AND default_kind != 'MATERIALIZED' ORDER BY position`,
    { table },
  );
  const names = columns.map(({ name }) => name);
  const keys = columns.filter(({ isKey }) => isKey === 1).map(({ name }) => name);
  const isReplaced = columns[0]?.engine !== 'MergeTree';
  // Versions of a row replace each other: only current rows are compared and copied.
  const from = isReplaced ? `${table} FINAL` : table;
  const stamp = STAMPS.find((each) => names.includes(each));
  const undated = names.includes('ArrivedWeek') ? 'ArrivedWeek' : "toDate('1970-01-01')";
  const day = stamp === undefined ? undated : `toDate(${stamp}, 'UTC')`;
  const divider = names.includes('TraceId') ? 'TraceId' : `hex(cityHash64(${keys.join(', ')}))`;
  const compared = isReplaced ? columns.filter(isComparable).map(({ name }) => name) : keys;
  const length = await chooseLength(source, table, day);
  const beginning = `substring(${divider}, 1, ${length})`;
  return {
    columns: names.map((name) => `\`${name}\``).join(', '),
    ranges: `SELECT toString(${day}) AS day, hex(${beginning}) AS beginning, count() AS amount,
       toString(sum(cityHash64(tuple(${compared.join(', ')})))) AS checksum FROM ${from} GROUP BY day, beginning`,
    // The condition on the divider alone is one that the index of a table knows.
    inRange: (range) =>
      `${day} = toDate('${range.day}') AND ${beginning} = unhex('${range.beginning}') AND startsWith(${divider}, unhex('${range.beginning}'))`,
    from,
  };
}

/** Keys, plain numbers, times and short texts: versions and states. Long texts expire by column, and sets have no order. */
function isComparable({ type, isKey }: ColumnRow): boolean {
  return (
    isKey === 1 ||
    /^(?:SimpleAggregateFunction\(\w+, )?(?:U?Int\d+|DateTime|Date|Float|UUID|LowCardinality)/u.test(type)
  );
}

/** Chooses so many hexadecimal digits that a range is about as large as one copy. */
async function chooseLength(source: Database, table: string, day: string): Promise<number> {
  const [size] = await source.rows<{ rowBytes: number; amount: number }>(
    `SELECT max(amount) AS amount, (
         SELECT sum(data_uncompressed_bytes) / greatest(sum(rows), 1) FROM system.parts
         WHERE database = currentDatabase() AND table = {table:String} AND active) AS rowBytes
       FROM (SELECT count() AS amount FROM ${table} GROUP BY ${day})`,
    { table },
  );
  const rowsPerRange = Math.min(
    MOST_ROWS,
    Math.max(FEWEST_ROWS, RANGE_BYTES / Math.max(1, size?.rowBytes ?? 0)),
  );
  return Math.max(0, Math.ceil(Math.log(Math.max(1, size?.amount ?? 0) / rowsPerRange) / Math.log(16)));
}
