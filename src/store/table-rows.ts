import { ANCHORS } from '../domain/anchor.ts';
import { DELIVERIES, deliveryVersion } from '../domain/delivery.ts';
import { decisionVersion, DECISIONS } from '../domain/decision.ts';
import { FAILURES, ISSUES } from '../domain/failure.ts';
import { JUDGE_CALLS } from '../domain/judge-call.ts';
import { runVersion, RUNS } from '../domain/run-record.ts';
import { SCORES } from '../domain/score.ts';
import { isTime, storeNameOf, type Column, type RowOf, type Table } from '../domain/table.ts';
import { DEPLOY_MARKERS } from '../domain/deploy-marker.ts';
import { DEAD_LETTERS } from './contracts/dead-letters.ts';
import { JOBS } from './contracts/jobs.ts';
import { joinTraceKey, SPEND, type TraceKey } from './contracts/stores.ts';
import type { Database } from './database.ts';
import { type QueryParams, toDateTime } from './values.ts';
import { keyParams, readSlices } from './spans/trace-keys.ts';

/** Values of a row, by the names of the columns or of the properties. */
type Values = Record<string, unknown>;

/**
 * Creates the reads and writes of a table from its definition.
 * @param computeVersion computes the version of a row; absent where the store does
 */
function createTableRows<T extends Table>(table: T, computeVersion?: (row: RowOf<T>) => bigint) {
  const columns = Object.entries<Column>(table.columns).map(([property, column]) => {
    const name = storeNameOf(property, column);
    return { property, name, ...codecOf(column, name) };
  });
  const decoded = columns.filter(({ decode }) => decode !== undefined);
  // A copy of an object with all columns is filled faster than an empty object.
  const empty = JSON.parse(
    JSON.stringify(Object.fromEntries(columns.map(({ name }) => [name, null]))),
  ) as Values;
  /** Returns SQL for columns by their properties. */
  const select = (properties: readonly string[]) =>
    columns
      .filter(({ property }) => properties.includes(property))
      .map(({ property, select: sql }) => `${sql} AS ${property}`)
      .join(', ');
  const selection = select(columns.map(({ property }) => property));
  const decodeRow = (row: Values) => {
    for (const { property, decode } of decoded) {
      row[property] = decode?.(row[property]);
    }
    return row as RowOf<T>;
  };
  /** Converts a row for an insert. */
  const encode = (row: RowOf<T>) => {
    const values = { ...empty };
    for (const { property, name, encode: encodeValue } of columns) {
      const value = (row as Values)[property];
      values[name] = encodeValue === undefined ? value : encodeValue(value);
    }
    if (computeVersion !== undefined) {
      values['Version'] = String(computeVersion(row));
    }
    return values;
  };
  /** @param from the statement from `FROM` on, or from the comma before further columns on */
  const read = async <More extends object = object>(database: Database, from: string, params?: QueryParams) =>
    (await database.rows<Values>(`SELECT ${selection} ${from}`, params)).map(
      (row) => decodeRow(row) as RowOf<T> & More,
    );
  return {
    select,
    read,
    /**
     * Reads rows of any number of traces, keyed by `joinTraceKey`.
     * @param from as above, with the condition `IN_KEYS`
     */
    readByTrace: async (database: Database, from: string, keys: readonly TraceKey[]) => {
      const rows = await readSlices(keys, (slice) => read(database, from, keyParams(slice)));
      return Map.groupBy(rows, (row) => joinTraceKey(row as unknown as TraceKey));
    },
    /** Inserts in one block, deduplicated by content on a retry. */
    write: (database: Database, rows: readonly RowOf<T>[]) =>
      database.insertRows(table.name, rows.map(encode)),
    /** Inserts rows under versions of their own: a row with a greater version wins, whenever it is written. */
    writeVersions: (database: Database, rows: readonly (RowOf<T> & { readonly version: number })[]) =>
      database.insertRows(
        table.name,
        rows.map((row) => ({ ...encode(row), Version: String(row.version) })),
      ),
    encode,
  };
}

interface Codec {
  /** SQL for the value. */
  readonly select: string;
  readonly decode?: (value: unknown) => unknown;
  readonly encode?: (value: unknown) => unknown;
}

function codecOf(column: Column, name: string): Codec {
  const { type, isOptional = false } = column;
  if (isTime(column)) {
    return {
      select: `toUnixTimestamp64Milli(${name})`,
      encode: (ms) => (ms === null ? null : toDateTime(ms as number)),
    };
  }
  if ('empty' in column) {
    const isEmpty = (value: unknown) => value === null || (Array.isArray(value) && value.length === 0);
    return {
      select: name,
      decode: (json) =>
        json === '' ? structuredClone(column.empty) : (JSON.parse(json as string) as unknown),
      encode: (value) => (isEmpty(value) ? '' : JSON.stringify(value)),
    };
  }
  if (column.isBytes === true) {
    return {
      select: name,
      decode: (text) => Buffer.from(text as string, 'base64'),
      encode: (content) => Buffer.from(content as Uint8Array).toString('base64'),
    };
  }
  if (type === 'Int64') {
    return { select: `toString(${name})`, decode: (text) => BigInt(text as string), encode: String };
  }
  if (type === 'UInt8') {
    return { select: `toBool(${name})`, encode: (flag) => (flag === true ? 1 : 0) };
  }
  return isOptional
    ? {
        select: name,
        decode: (value) => value || undefined,
        encode: (value) => value ?? (type === 'Bool' ? false : ''),
      }
    : { select: name };
}

/** Rows of `scores`; the store computes their version. */
export const scoreRows = createTableRows(SCORES);

/** Rows of `decisions`. */
export const decisionRows = createTableRows(DECISIONS, decisionVersion);

/** Rows of `runs`. */
export const runRows = createTableRows(RUNS, runVersion);

/** Rows of `failures`; the store computes their version. */
export const failureRows = createTableRows(FAILURES);

/** Rows of `issues`; the store computes their version. */
export const issueRows = createTableRows(ISSUES);

/** Rows of `deliveries`. */
export const deliveryRows = createTableRows(DELIVERIES, deliveryVersion);

/** Rows of `judge_calls`. */
export const judgeCallRows = createTableRows(JUDGE_CALLS);

/** Rows of `anchors`. */
export const anchorRows = createTableRows(ANCHORS);

/** Rows of `spend`. */
export const spendRows = createTableRows(SPEND);

/** Rows of `dead_letters`: the newest attempt wins. */
export const deadLetterRows = createTableRows(DEAD_LETTERS, ({ attempts }) => BigInt(attempts));

/** Rows of `jobs` without a word. */
export const jobRows = createTableRows(JOBS);

/** Rows of `deploy_markers`. */
export const markerRows = createTableRows(DEPLOY_MARKERS);
