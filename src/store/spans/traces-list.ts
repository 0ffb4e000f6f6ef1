import type { DecisionStatus, StatusCounts } from '../../domain/decision.ts';
import { OWN_SCOPE } from '../../domain/span.ts';
import { readActivity } from './activity.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { ownTables, type SpanTables } from './span-tables.ts';
import { IN_KEYS, keyParams, MAX_KEYS } from './trace-keys.ts';
import type { TraceListFilter, TraceSummary } from '../contracts/store.ts';

/** Source of a list of traces. */
export interface TraceListing {
  tables(): Promise<SpanTables>;
  /** Newest arrivals first. */
  newest(filter: TraceListFilter): Promise<TraceActivity[]>;
}

export function ownListing(database: Database): TraceListing {
  return {
    tables: async () => ownTables(database),
    newest: async (filter) => {
      const keys = await newestKeys(database, filter);
      const activity = await readActivity(database, keys);
      return keys.flatMap((key) => activity.get(joinTraceKey(key)) ?? []);
    },
  };
}

/** Newest arrivals first. */
export async function listTraces(
  database: Database,
  filter: TraceListFilter,
  listing: TraceListing = ownListing(database),
): Promise<TraceSummary[]> {
  const traces = await listing.newest(filter);
  if (traces.length === 0) {
    return [];
  }
  const [spans, decisions] = await Promise.all([
    countSpans(database, traces, await listing.tables()),
    countDecisions(database, traces),
  ]);
  return traces.map((trace) => {
    const name = joinTraceKey(trace);
    const { tenant, traceId, firstArrivalMs, lastArrivalMs, rootSeen, agentSeen, errorSeen } = trace;
    return {
      tenant,
      traceId,
      services: spans.get(name)?.services ?? [],
      spanCount: Number(spans.get(name)?.spanCount ?? 0),
      firstArrivalMs,
      lastArrivalMs,
      rootSeen,
      agentSeen,
      errorSeen,
      decisions: decisions.get(name) ?? {},
    };
  });
}

function newestKeys(database: Database, filter: TraceListFilter): Promise<TraceKey[]> {
  const since = 'fromUnixTimestamp64Milli({since:Int64})';
  const service = `AND (Tenant, TraceId) IN (
    SELECT Tenant, TraceId FROM otel_traces WHERE ServiceName = {service:String} AND ArrivedAt >= ${since})`;
  return database.rows<TraceKey>(
    `SELECT Tenant AS tenant, TraceId AS traceId
     FROM trace_activity
     WHERE ArrivedWeek >= toMonday(${since}) AND LastArrival >= ${since}
       ${filter.tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}
       ${filter.service === undefined ? '' : service}
     GROUP BY Tenant, TraceId
     ORDER BY max(LastArrival) DESC, traceId
     LIMIT {limit:UInt32}`,
    {
      since: Math.max(0, Math.trunc(filter.sinceMs ?? 0)),
      tenant: filter.tenant ?? '',
      service: filter.service ?? '',
      limit: Math.min(filter.limit, MAX_KEYS),
    },
  );
}

interface SpanCount extends TraceKey {
  services: string[];
  spanCount: string;
}

async function countSpans(
  database: Database,
  keys: readonly TraceKey[],
  tables: SpanTables,
): Promise<Map<string, SpanCount>> {
  const rows = await database.rows<SpanCount>(
    `SELECT Tenant AS tenant, TraceId AS traceId, uniqExact(SpanId) AS spanCount,
       groupUniqArrayIf(100)(ServiceName, ServiceName != '') AS services
     FROM ${tables.spans} WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String}
     GROUP BY Tenant, TraceId`,
    { ...(await tables.params(keys)), own: OWN_SCOPE },
  );
  return new Map(rows.map((row) => [joinTraceKey(row), row]));
}

async function countDecisions(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, StatusCounts>> {
  const rows = await database.rows<TraceKey & { status: DecisionStatus; decisions: string }>(
    `SELECT Tenant AS tenant, TraceId AS traceId, Status AS status, count() AS decisions
     FROM decisions FINAL WHERE ${IN_KEYS} GROUP BY Tenant, TraceId, Status ORDER BY status`,
    keyParams(keys),
  );
  const found = new Map<string, StatusCounts>();
  for (const row of rows) {
    const name = joinTraceKey(row);
    found.set(name, { ...found.get(name), [row.status]: Number(row.decisions) });
  }
  return found;
}
