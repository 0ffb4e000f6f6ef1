import { MINUTE_MS, SECOND_MS } from '../../domain/durations.ts';
import type { StorePace } from '../contracts/store.ts';
import type { Database } from '../database.ts';

/** Time over which the pace is measured, milliseconds. */
const PACE_MS = MINUTE_MS;

/** Reads what arrived in the last minute, by tables in the order of arrival. */
export async function readStorePace(database: Database, tenant: string | undefined): Promise<StorePace> {
  const ofTenant = tenant === undefined ? '' : 'AND Tenant = {tenant:String}';
  const [row] = await database.rows<{ version: string; spans: string; scores: string }>(
    `SELECT version() AS version,
       (SELECT sum(length(SpanIds)) FROM trace_arrivals
        WHERE ArrivedAt >= now64(9) - toIntervalMillisecond(${PACE_MS}) ${ofTenant}) AS spans,
       (SELECT count() FROM score_arrivals
        WHERE WrittenAt >= now64(3) - toIntervalMillisecond(${PACE_MS}) ${ofTenant}) AS scores`,
    { tenant: tenant ?? '' },
  );
  const perSecond = (count: string | undefined) => Number(count ?? 0) / (PACE_MS / SECOND_MS);
  return {
    version: row?.version ?? '',
    spansPerSecond: perSecond(row?.spans),
    scoresPerSecond: perSecond(row?.scores),
  };
}
