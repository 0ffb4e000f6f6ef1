import { MAX_KEYS, type TraceKey } from '../contracts/stores.ts';
import { readClock } from '../spans/arrivals.ts';
import type { Database } from '../database.ts';
import { toNanos } from '../spans/trace-starts.ts';
import { COUNTS, END } from './foreign-rows.ts';
import type { ForeignTable } from './foreign-schema.ts';
import type { TraceListFilter } from '../contracts/store.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Windows of the search, milliseconds; the next one when the former has too few rows. */
const WINDOWS_MS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, Infinity];

/** Traces by their last end, newest first: the table has no arrivals. */
export async function newestForeign(
  database: Database,
  table: ForeignTable,
  filter: TraceListFilter,
): Promise<TraceKey[]> {
  const limit = Math.min(filter.limit, MAX_KEYS);
  if ((filter.tenant ?? '') !== '') {
    return [];
  }
  const sinceMs = filter.sinceMs ?? 0;
  const nowMs = await readClock(database);
  for (const windowMs of WINDOWS_MS) {
    const fromMs = Math.max(sinceMs, nowMs - windowMs);
    const rows = await database.rows<TraceKey>(
      `SELECT '' AS tenant, origin.TraceId AS traceId
       FROM ${table.name} AS origin
       WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64}) AND ${COUNTS}
         ${filter.service === undefined ? '' : 'AND origin.ServiceName = {service:String}'}
       GROUP BY traceId
       ORDER BY max(${END}) DESC, traceId
       LIMIT {limit:UInt32}`,
      { from: toNanos(fromMs), service: filter.service ?? '', limit },
    );
    if (rows.length === limit || fromMs <= sinceMs) {
      return rows;
    }
  }
  return [];
}
