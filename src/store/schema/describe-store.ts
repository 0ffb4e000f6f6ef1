import { MINUTE_MS, SECOND_MS } from '../../domain/durations.ts';
import type { AheadRows, StorePace, StoreSize } from '../contracts/lists.ts';
import type { Database } from '../database.ts';

/** Distance to the store's clock from which a stamp counts as ahead of it, milliseconds. */
const AHEAD_MS = 60_000;

const STAMPS = [
  ['members', 'BeatAt'],
  ['rule_versions', 'ActiveFrom'],
  ['trace_arrivals', 'ArrivedAt'],
] as const;

/** Finds the tables that have rows ahead of the store's clock. */
export function readAheadRows(database: Database): Promise<AheadRows[]> {
  const queries = STAMPS.map(
    ([table, stamp]) =>
      `SELECT '${table}' AS table, toUInt32(count()) AS rows,
         toUnixTimestamp64Milli(toDateTime64(max(${stamp}), 3)) - toUnixTimestamp64Milli(now64(3)) AS aheadMs
       FROM ${table} WHERE ${stamp} > now64(3) + toIntervalMillisecond({ahead:UInt32})`,
  );
  return database.rows(`SELECT * FROM (${queries.join(' UNION ALL ')}) WHERE rows > 0 ORDER BY table`, {
    ahead: AHEAD_MS,
  });
}

/** Time over which the pace is measured, milliseconds. */
const PACE_MS = MINUTE_MS;

/** Reads what arrived in the last minute, by tables in the order of arrival. */
export async function readStorePace(database: Database, tenant: string | undefined): Promise<StorePace> {
  const ofTenant = tenant === undefined ? '' : 'AND Tenant = {tenant:String}';
  const [row] = await database.rows<{ version: string; spans: number; scores: number }>(
    `SELECT version() AS version,
       (SELECT sum(length(SpanIds)) FROM trace_arrivals
        WHERE ArrivedAt >= now64(9) - toIntervalMillisecond(${PACE_MS}) ${ofTenant}) AS spans,
       (SELECT count() FROM score_arrivals
        WHERE WrittenAt >= now64(3) - toIntervalMillisecond(${PACE_MS}) ${ofTenant}) AS scores`,
    { tenant: tenant ?? '' },
  );
  const perSecond = (count = 0) => count / (PACE_MS / SECOND_MS);
  return {
    version: row?.version ?? '',
    spansPerSecond: perSecond(row?.spans),
    scoresPerSecond: perSecond(row?.scores),
  };
}

/**
 * Reads the size of the store from the list of parts, not from the tables, so it is fast for any amount of data. Of replicas, it is the size
 * of the one that answers.
 */
export async function readStoreSize(database: Database): Promise<StoreSize> {
  const parts = await database.rows<{ table: string; bytes: number; amount: number }>(
    `SELECT table, sum(bytes_on_disk) AS bytes, sum(rows) AS amount FROM system.parts
     WHERE database = {name:String} AND active GROUP BY table`,
    { name: database.name },
  );
  const computeRows = (asked: string) => parts.find(({ table }) => table === asked)?.amount ?? 0;
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    rows: {
      spans: computeRows('otel_traces'),
      scores: computeRows('scores'),
      decisions: computeRows('decisions'),
    },
  };
}
