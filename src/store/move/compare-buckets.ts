import type { StampRange } from '../contracts/move.ts';
import type { Database } from '../database.ts';
import type { MovedTable } from './moved-tables.ts';

/** Part of a table: the rows of a day, or of all days, whose divider begins with a text. */
export interface Bucket {
  readonly day: string;
  readonly beginning: string;
  /** Length of the beginnings of all buckets of this comparison. */
  readonly length: number;
}

/** Bucket that differs between two stores. */
export interface Difference {
  readonly bucket: Bucket;
  readonly sourceRows: number;
  readonly targetRows: number;
}

interface BucketRow {
  readonly day: string;
  readonly beginning: string;
  readonly amount: string;
  readonly checksum: string;
}

/** Finds the buckets of a range that are not equal in two stores. Their size is that of one copy. */
export async function compareBuckets(
  stores: { readonly source: Database; readonly target: Database },
  table: MovedTable,
  range: StampRange,
): Promise<Difference[]> {
  const length = await chooseLength(stores.source, table, range);
  const [source, target] = await Promise.all(
    [stores.source, stores.target].map(async (database) => readBuckets(database, { table, range, length })),
  );
  const keys = new Set([...(source?.keys() ?? []), ...(target?.keys() ?? [])]);
  return [...keys].flatMap((key) => {
    const [there, copied] = [source?.get(key), target?.get(key)];
    const row = there ?? copied;
    const isEqual = there?.amount === copied?.amount && there?.checksum === copied?.checksum;
    return row === undefined || isEqual
      ? []
      : [
          {
            bucket: { day: row.day, beginning: row.beginning, length },
            sourceRows: Number(there?.amount ?? 0),
            targetRows: Number(copied?.amount ?? 0),
          },
        ];
  });
}

/** SQL condition on the rows of a range. */
function inRange({ stamp }: MovedTable, { fromMs, untilMs }: StampRange): string {
  const at = (ms: number) => `fromUnixTimestamp64Milli(${Math.trunc(ms)})`;
  return stamp === undefined
    ? '1'
    : [
        ...(fromMs > 0 ? [`${stamp} >= ${at(fromMs)}`] : []),
        ...(Number.isFinite(untilMs) ? [`${stamp} < ${at(untilMs)}`] : []),
        '1',
      ].join(' AND ');
}

/** SQL condition on the rows of a bucket of a range, with its parameters. */
export function inBucket(
  table: MovedTable,
  range: StampRange,
  { day, beginning, length }: Bucket,
): { readonly sql: string; readonly params: { readonly day: string; readonly beginning: string } } {
  // The second condition on the divider is one that the index of a table knows.
  const sql = `${inRange(table, range)} AND ${table.day} = {day:Date}
    AND substring(${table.divider}, 1, ${length}) = {beginning:String} AND startsWith(${table.divider}, {beginning:String})`;
  return { sql, params: { day, beginning } };
}

/** Chooses so many characters that a bucket is about as large as one copy. Ids have hexadecimal digits. */
async function chooseLength(source: Database, table: MovedTable, range: StampRange): Promise<number> {
  const [row] = await source.rows<{ amount: string }>(
    `SELECT max(amount) AS amount FROM (
       SELECT count() AS amount FROM ${table.name} WHERE ${inRange(table, range)} GROUP BY ${table.day})`,
  );
  const copies = Number(row?.amount ?? 0) / table.rowsPerCopy;
  return copies <= 1 ? 0 : Math.ceil(Math.log(copies) / Math.log(16));
}

async function readBuckets(
  database: Database,
  {
    table,
    range,
    length,
  }: { readonly table: MovedTable; readonly range: StampRange; readonly length: number },
): Promise<Map<string, BucketRow>> {
  const rows = await database.rows<BucketRow>(
    `SELECT toString(${table.day}) AS day, substring(${table.divider}, 1, ${length}) AS beginning,
       count() AS amount, sum(cityHash64(tuple(${table.compared.join(', ')}))) AS checksum
     FROM ${table.current} WHERE ${inRange(table, range)} GROUP BY day, beginning`,
  );
  return new Map(rows.map((row) => [`${row.day} ${row.beginning}`, row]));
}
