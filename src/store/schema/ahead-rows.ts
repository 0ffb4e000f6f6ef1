import type { AheadRows } from '../contracts/store.ts';
import type { Database } from '../database.ts';

/** Distance to the store's clock from which a stamp counts as ahead of it, milliseconds. */
const AHEAD_MS = 60_000;

const STAMPS = [
  ['members', 'BeatAt'],
  ['rule_versions', 'ActiveFrom'],
  ['trace_arrivals', 'ArrivedAt'],
] as const;

/** Finds the tables that have rows ahead of the store's clock. */
export async function readAheadRows(database: Database): Promise<AheadRows[]> {
  const queries = STAMPS.map(
    ([table, stamp]) =>
      `SELECT '${table}' AS table, toUInt32(count()) AS rows,
         toUnixTimestamp64Milli(toDateTime64(max(${stamp}), 3)) - toUnixTimestamp64Milli(now64(3)) AS aheadMs
       FROM ${table} WHERE ${stamp} > now64(3) + toIntervalMillisecond({ahead:UInt32})`,
  );
  const rows = await database.rows<{ table: string; rows: number; aheadMs: string }>(
    `SELECT * FROM (${queries.join(' UNION ALL ')}) WHERE rows > 0 ORDER BY table`,
    { ahead: AHEAD_MS },
  );
  return rows.map((row) => ({ ...row, aheadMs: Number(row.aheadMs) }));
}
