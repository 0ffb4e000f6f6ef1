import { DAY_MS } from '../../domain/durations.ts';
import type { ListFilters } from '../contracts/lists.ts';
import type { TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { agentSeenSql } from '../spans/agent-signal-sql.ts';
import { buildConditions } from './list-conditions.ts';
import { afterParams, type CandidateRange, type TraceCandidate } from './trace-candidate.ts';

/** Time since the arrival of a trace without a run within which it is listed, milliseconds. */
const UNREAD_MS = DAY_MS;

/** Reads traces of agents that came lately and have no decision, by their start. Some may have a run. */
export async function readUnread(
  database: Database,
  filters: ListFilters,
  { after, limit }: CandidateRange,
): Promise<TraceCandidate[]> {
  const { sql, params } = buildConditions(filters, {
    tenant: 'Tenant = {tenant:String}',
    traceId: 'TraceId IN {traceId:Array(String)}',
  });
  const within = buildConditions(filters, {
    sinceMs: 'atMs >= {sinceMs:Int64}',
    untilMs: 'atMs < {untilMs:Int64}',
  });
  const rows = await database.rows<TraceKey & { start: string }>(
    `SELECT tenant, traceId, toString(atMs) AS start FROM (
       SELECT Tenant AS tenant, TraceId AS traceId, intDiv(min(FirstStart), 1000000) AS atMs
       FROM trace_arrivals
       WHERE ArrivedAt >= now64(9) - toIntervalMillisecond(${UNREAD_MS}) AND ${sql}
         AND (Tenant, TraceId) NOT IN (
           SELECT Tenant, TraceId FROM decisions
           WHERE EvidenceUntil >= now64(3) - toIntervalMillisecond(${UNREAD_MS}))
       GROUP BY Tenant, TraceId
       HAVING ${agentSeenSql('groupUniqArrayArray(Signals)', database.agentSignals)})
     WHERE ${within.sql} ${after === undefined ? '' : AFTER}
     ORDER BY atMs DESC, traceId DESC, tenant DESC
     LIMIT {limit:UInt32}`,
    { ...params, ...within.params, ...afterParams(after), limit },
  );
  return rows.map(({ tenant, traceId, start }) => ({
    tenant,
    traceId,
    atMs: Number(start),
    isRead: false,
  }));
}

const AFTER = 'AND (atMs, traceId, tenant) < ({afterMs:Int64}, {afterId:String}, {afterTenant:String})';
