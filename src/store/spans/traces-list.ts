import { OWN_SCOPE } from '../../domain/trace/span.ts';
import { readActivity, readClock } from './arrivals.ts';
import { joinTraceKey, MAX_KEYS, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { addFacts } from '../lists/trace-list.ts';
import { readMainRuns } from '../tables/runs.ts';
import type { Database } from '../database.ts';
import { ownTables, type SpanTables } from './span-tables.ts';
import { IN_KEYS } from './trace-keys.ts';
import { readHalted } from './facts.ts';
import type { TraceListFilter, TraceSummary } from '../contracts/lists.ts';

export interface TraceListing {
  tables(): Promise<SpanTables>;
  /** Newest arrivals first. */
  newest(filter: TraceListFilter): Promise<TraceKey[]>;
  /** Keyed by `joinTraceKey`; a trace whose spans have expired may be absent. */
  activity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>>;
}

export function ownListing(database: Database): TraceListing {
  return {
    tables: async () => ownTables(database),
    newest: (filter) => newestKeys(database, filter),
    activity: (keys) => readActivity(database, keys),
  };
}

/** Newest arrivals first. Reads spans of the listed traces only, by their ids. */
export async function listTraces(
  database: Database,
  filter: TraceListFilter,
  listing: TraceListing = ownListing(database),
): Promise<TraceSummary[]> {
  const keys = await listing.newest(filter);
  if (keys.length === 0) {
    return [];
  }
  const tables = await listing.tables();
  const [activities, runs, spans] = await Promise.all([
    listing.activity(keys),
    readMainRuns(database, keys),
    countSpans(database, keys, tables),
  ]);
  const failed = keys.filter((key) => activities.get(joinTraceKey(key))?.errorSeen === true);
  const params = failed.length === 0 ? {} : { ...(await tables.params(failed)), own: OWN_SCOPE };
  const halted = await readHalted(database, tables, failed, params);
  const traces = keys.map(({ tenant, traceId }) => {
    const name = joinTraceKey({ tenant, traceId });
    const run = runs.get(name) ?? null;
    return { tenant, traceId, run, startedAtMs: run?.startedAt ?? readStart(activities.get(name)) };
  });
  return (await addFacts(database, traces)).flatMap((trace): TraceSummary[] => {
    const { run } = trace;
    const name = joinTraceKey(trace);
    const activity = activities.get(name) ?? (run && describeExpired(run));
    if (activity === null) {
      return [];
    }
    const { firstArrivalMs, lastArrivalMs, rootSeen, agentSeen, errorSeen } = activity;
    return [
      {
        ...trace,
        services:
          spans.get(name)?.services ?? (run === null || run.serviceName === '' ? [] : [run.serviceName]),
        spanCount: Number(spans.get(name)?.spanCount ?? 0),
        firstArrivalMs,
        lastArrivalMs,
        rootSeen,
        agentSeen,
        errorSeen: halted.get(name)?.hasError !== false && errorSeen,
      },
    ];
  });
}

/** Returns the start of the first span, Unix milliseconds. */
function readStart(activity: TraceActivity | undefined): number {
  return Number((activity?.firstStartUnixNano ?? 0n) / 1_000_000n);
}

/** Describes a trace of which only the run is stored: its spans have expired. */
function describeExpired({ evidenceUntil, completeness, status }: RunRecord) {
  return {
    firstArrivalMs: evidenceUntil,
    lastArrivalMs: evidenceUntil,
    rootSeen: completeness === 'complete',
    agentSeen: true,
    errorSeen: status === 'error',
  };
}

/** Windows of the search, milliseconds; the next one when the former has too few traces. */
const WINDOWS_MS = [HOUR_MS, DAY_MS, 2 * DAY_MS, Infinity];

/** Longest window that `trace_arrivals` covers for sure, milliseconds. */
const ARRIVALS_KEPT_MS = 2 * DAY_MS;

/** Most traces without a run whose spans are looked at for their services. */
const MAX_UNREAD = 5_000;

/** Finds the newest traces by their runs, and by arrivals: a trace that waits, or that has no agent, has no run. */
async function newestKeys(database: Database, filter: TraceListFilter): Promise<TraceKey[]> {
  const sinceMs = Math.max(0, Math.trunc(filter.sinceMs ?? 0));
  const limit = Math.min(filter.limit, MAX_KEYS);
  const nowMs = await readClock(database);
  for (const windowMs of WINDOWS_MS) {
    const fromMs = Math.max(sinceMs, nowMs - windowMs);
    const keys = await newestSince(database, { ...filter, limit }, { fromMs, nowMs });
    if (keys.length === limit || fromMs <= sinceMs) {
      return keys;
    }
  }
  return [];
}

function newestSince(
  database: Database,
  { tenant, service, limit }: TraceListFilter,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): Promise<TraceKey[]> {
  const ofTenant = tenant === undefined ? '' : 'AND Tenant = {tenant:String}';
  const ofService = service === undefined ? '' : 'AND ServiceName = {service:String}';
  return database.rows<TraceKey>(
    `SELECT tenant, traceId FROM (
       SELECT Tenant AS tenant, TraceId AS traceId, toDateTime64(EvidenceUntil, 9, 'UTC') AS arrived
       FROM runs
       WHERE Target = 'trace' AND WrittenAt >= fromUnixTimestamp64Milli({from:Int64})
         AND EvidenceUntil >= fromUnixTimestamp64Milli({from:Int64}) ${ofTenant} ${ofService}
       UNION ALL
       SELECT Tenant AS tenant, TraceId AS traceId, toDateTime64(arrivedAt, 9, 'UTC') AS arrived
       FROM (${nowMs - fromMs > ARRIVALS_KEPT_MS ? ACTIVE : ARRIVED})
       WHERE ${service === undefined ? '1' : UNREAD_OF_SERVICE} ${ofTenant})
     GROUP BY tenant, traceId
     ORDER BY max(arrived) DESC, traceId
     LIMIT {limit:UInt32}`,
    {
      from: fromMs,
      unreadFrom: Math.max(fromMs, nowMs - DAY_MS),
      tenant: tenant ?? '',
      service: service ?? '',
      limit,
    },
  );
}

const ARRIVED = `
  SELECT Tenant, TraceId, ArrivedAt AS arrivedAt FROM trace_arrivals
  WHERE ArrivedAt >= fromUnixTimestamp64Milli({from:Int64})`;

const ACTIVE = `
  SELECT Tenant, TraceId, LastArrival AS arrivedAt FROM trace_activity
  WHERE ArrivedWeek >= toMonday(fromUnixTimestamp64Milli({from:Int64}))
    AND LastArrival >= fromUnixTimestamp64Milli({from:Int64})`;

/** The service of a trace without a run is only in its spans. */
const UNREAD_OF_SERVICE = `(Tenant, TraceId) IN (
  SELECT Tenant, TraceId FROM otel_traces
  WHERE ServiceName = {service:String} AND (Tenant, TraceId) IN (
    SELECT Tenant, TraceId FROM trace_arrivals
    WHERE ArrivedAt >= fromUnixTimestamp64Milli({unreadFrom:Int64}) AND (Tenant, TraceId) NOT IN (
      SELECT Tenant, TraceId FROM runs WHERE WrittenAt >= fromUnixTimestamp64Milli({unreadFrom:Int64}))
    GROUP BY Tenant, TraceId
    ORDER BY max(ArrivedAt) DESC
    LIMIT ${MAX_UNREAD}))`;

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
