import type { Arrival } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { agentSeenSql } from './agent-signal-sql.ts';

interface ArrivalRow {
  tenant: string;
  traceId: string;
  first: string;
  last: string;
  spanIds: string[];
  parentIds: string[];
  rootSeen: number;
  agentSeen: number;
}

/** The store's clock, Unix milliseconds. */
export async function readClock(database: Database): Promise<number> {
  const [row] = await database.rows<{ now: string }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
  return Number(row?.now);
}

/**
 * Reads the arrivals in [fromMs, toMs), grouped by trace. An insert may become visible after one with a later stamp: read
 * ranges that overlap by more than the longest insert.
 */
export async function readArrivals(database: Database, fromMs: number, toMs: number): Promise<Arrival[]> {
  const rows = await database.rows<ArrivalRow>(
    `SELECT
       Tenant AS tenant,
       TraceId AS traceId,
       toUnixTimestamp64Milli(min(ArrivedAt)) AS first,
       toUnixTimestamp64Milli(max(ArrivedAt)) AS last,
       groupUniqArrayArray(SpanIds) AS spanIds,
       groupUniqArrayArray(ParentIds) AS parentIds,
       max(RootSeen) AS rootSeen,
       ${agentSeenSql('groupUniqArrayArray(Signals)', database.agentSignals)} AS agentSeen
     FROM trace_arrivals
     WHERE ArrivedAt >= fromUnixTimestamp64Milli({from:Int64})
       AND ArrivedAt < fromUnixTimestamp64Milli({to:Int64})
     GROUP BY Tenant, TraceId`,
    { from: Math.trunc(fromMs), to: Math.trunc(toMs) },
  );
  return rows.map((row) => ({
    tenant: row.tenant,
    traceId: row.traceId,
    firstArrivalMs: Number(row.first),
    lastArrivalMs: Number(row.last),
    spanIds: row.spanIds,
    parentIds: row.parentIds,
    rootSeen: row.rootSeen === 1,
    agentSeen: row.agentSeen === 1,
  }));
}
