import { fromMillis, toDateTime } from '../values.ts';
import type { AggregateStore, TouchedHour } from '../contracts/aggregates/aggregates.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';

/** Creates the progress of a kind of aggregates. */
export function createProgress(
  database: Database,
  name: string,
): Pick<AggregateStore, 'doneUntil' | 'markDone'> {
  return {
    doneUntil: () => readDoneUntil(database, name),
    markDone: (untilMs) =>
      database.insertRows('aggregate_progress', [{ Name: name, DoneUntil: toDateTime(untilMs) }]),
  };
}

/** Returns the time up to which all written rows are in the aggregates, Unix milliseconds; null before the first pass. */
export async function readDoneUntil(database: Database, name: string): Promise<number | null> {
  const [row] = await database.rows<{ atMs: string }>(
    'SELECT toUnixTimestamp64Milli(DoneUntil) AS atMs FROM aggregate_progress FINAL WHERE Name = {name:String}',
    { name },
  );
  return fromMillis(row?.atMs ?? null);
}

interface HourRow {
  readonly tenant: string;
  readonly hourMs: string;
  readonly hourRows: string;
}

/** Lists hours in the order of time. The query gives Tenant, Hour and HourRows. */
export async function listHours(
  database: Database,
  sql: string,
  params: QueryParams = {},
): Promise<TouchedHour[]> {
  const rows = await database.rows<HourRow>(
    `SELECT Tenant AS tenant, toUnixTimestamp64Milli(Hour) AS hourMs, sum(HourRows) AS hourRows
     FROM (${sql}) GROUP BY Tenant, Hour ORDER BY Hour, Tenant`,
    params,
  );
  return rows.map(({ tenant, hourMs, hourRows }) => ({
    tenant,
    hourMs: Number(hourMs),
    rows: Number(hourRows),
  }));
}

/** Start of a bucket of a tenant, Unix milliseconds. */
export type BucketKey = readonly [tenant: string, bucketMs: number];

/** Returns the parameters of `isAsked` for at least one bucket. */
export function askBuckets(buckets: readonly BucketKey[]): QueryParams {
  const starts = buckets.map(([, bucketMs]) => bucketMs);
  return {
    tenants: buckets.map(([tenant]) => tenant),
    buckets: starts,
    first: Math.min(...starts),
    last: Math.max(...starts),
  };
}

/** Returns SQL for the condition on the tenants and buckets of `replaceBuckets`. The bounds let indexes leave out most rows. */
export function isAsked(bucket: string): string {
  return `${bucket} BETWEEN fromUnixTimestamp64Milli({first:Int64}, 'UTC') AND fromUnixTimestamp64Milli({last:Int64}, 'UTC')
    AND (Tenant, toUnixTimestamp64Milli(${bucket})) IN (
      SELECT arrayJoin(arrayZip({tenants:Array(String)}, {buckets:Array(Int64)})))`;
}

/** Table of aggregates with the SQL of its rows. */
export interface BucketRows {
  readonly table: string;
  /** Key columns, `Tenant` and `Bucket` among them. */
  readonly keys: string;
  /** Columns with numbers that are inserted. */
  readonly columns: string;
  /** Query of the keys and the numbers of the asked buckets. */
  readonly rows: string;
  /** Numbers of an empty row, as in `rows`. */
  readonly empty: string;
  /** Sums over the rows of a key, in the order of `columns`. */
  readonly sums: string;
  /** Condition on the sums of an empty row. */
  readonly isEmpty: string;
}

/**
 * Computes buckets and replaces what was there by one insert. Rows that the bucket no longer has become deleted ones. Two processes may
 * do this at once: the later computation wins, or a repeat within the overlap of the passes does.
 */
export async function replaceBuckets(
  database: Database,
  { table, keys, columns, rows, empty, sums, isEmpty }: BucketRows,
  { buckets, params = {} }: { readonly buckets: readonly BucketKey[]; readonly params?: QueryParams },
): Promise<void> {
  if (buckets.length === 0) {
    return;
  }
  await database.insertSelected(
    `INSERT INTO ${table} (${keys}, ${columns}, Version, IsDeleted)
     WITH (
       SELECT greatest(toUInt64(toUnixTimestamp64Milli(now64(3))), max(Version) + 1) FROM ${table}
       WHERE Bucket BETWEEN fromUnixTimestamp64Milli({first:Int64}) AND fromUnixTimestamp64Milli({last:Int64})) AS Next
     SELECT ${keys}, ${sums}, Next, ${isEmpty}
     FROM (
       ${rows}
       UNION ALL
       SELECT ${keys}, ${empty} FROM ${table} FINAL WHERE ${isAsked('Bucket')})
     GROUP BY ${keys}`,
    { ...params, ...askBuckets(buckets) },
  );
}
