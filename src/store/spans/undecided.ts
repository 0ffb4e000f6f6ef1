import { joinTraceKey, type TraceActivity, type UndecidedQuery } from '../contracts/stores.ts';
import { activityColumns, toActivity, type ActivityRow } from './activity.ts';
import { SHARDS } from '../contracts/trace-shards.ts';
import type { Database } from '../database.ts';

/** Limit of arrival rows in one query of the sweep; a larger number is divided into ranges of time. */
const ARRIVALS_PER_QUERY = 200_000;

/**
 * Finds the traces of the sweep: traces with agent activity whose first arrival is at or after `sinceMs`, and that a rule,
 * active before they arrived, has not decided, or decided on older evidence, or postponed to a time that has come. Reads
 * the oldest range first; each range is one query, which limits memory.
 */
export async function readUndecided(database: Database, query: UndecidedQuery): Promise<TraceActivity[]> {
  if (query.rules.length === 0 || query.limit <= 0) {
    return [];
  }
  const found = new Map<string, TraceActivity>();
  for (const [fromMs, toMs] of await readRanges(database, query)) {
    for (const activity of await undecidedIn(database, query, fromMs, toMs)) {
      found.set(joinTraceKey(activity), activity);
    }
    if (found.size >= query.limit) {
      break;
    }
  }
  return [...found.values()].slice(0, query.limit);
}

/** Divides the time since `sinceMs` into ranges with about as many arrivals as one query may read. */
async function readRanges(
  database: Database,
  { sinceMs, nowMs }: UndecidedQuery,
): Promise<[number, number][]> {
  const [row] = await database.rows<{ arrivals: string; last: string }>(
    `SELECT count() AS arrivals, toUnixTimestamp64Milli(max(ArrivedAt)) AS last FROM trace_arrivals
     WHERE ArrivedAt >= fromUnixTimestamp64Milli({since:Int64})`,
    { since: Math.trunc(sinceMs) },
  );
  const end = Math.max(nowMs, Number(row?.last ?? 0)) + 1;
  const pieces = Math.max(1, Math.ceil(Number(row?.arrivals ?? 0) / ARRIVALS_PER_QUERY));
  const step = Math.max(1, Math.ceil((end - sinceMs) / pieces));
  const ranges: [number, number][] = [];
  for (let from = Math.trunc(sinceMs); from < end; from += step) {
    ranges.push([from, from + step]);
  }
  return ranges;
}

const CANDIDATES = `SELECT DISTINCT Tenant, TraceId FROM trace_arrivals
  WHERE ArrivedAt >= fromUnixTimestamp64Milli({from:Int64}) AND ArrivedAt < fromUnixTimestamp64Milli({to:Int64})`;

/** `computeShard` of a trace in SQL: the first four bytes of its key's SHA-256, greatest first. */
const SHARD = `reinterpretAsUInt32(reverse(substring(SHA256(concat(Tenant, ' ', TraceId)), 1, 4))) % ${SHARDS}`;

/** Per trace: the rules that decided it, the oldest evidence of each, and whether one of its attempts is due. */
const DECIDED = `
  SELECT tenant, traceId, groupArray(rule) AS rules, groupArray(seen) AS seens, groupArray(due) AS dues
  FROM (
    SELECT Tenant AS tenant, TraceId AS traceId, Rule AS rule,
      toUnixTimestamp64Milli(max(EvidenceUntil)) AS seen,
      max(Status = 'deferred' AND ifNull(toUnixTimestamp64Milli(NextAttemptAt) <= {now:Int64}, 0)) AS due
    FROM decisions FINAL
    WHERE (Tenant, TraceId) IN (${CANDIDATES}) AND Rule IN {rules:Array(String)}
    GROUP BY tenant, traceId, rule)
  GROUP BY tenant, traceId`;

async function undecidedIn(
  database: Database,
  query: UndecidedQuery,
  fromMs: number,
  toMs: number,
): Promise<TraceActivity[]> {
  const shards = query.shards ?? null;
  const rows = await database.rows<ActivityRow>(
    `SELECT activity.* FROM (
       SELECT ${activityColumns(database)} FROM trace_activity
       WHERE (Tenant, TraceId) IN (${CANDIDATES})
         ${shards === null ? '' : `AND ${SHARD} IN {shards:Array(UInt16)}`}
       GROUP BY Tenant, TraceId
       HAVING agentSeen = 1 AND knownLate = 0 AND firstArrival >= {since:Int64}) AS activity
     LEFT JOIN (${DECIDED}) AS decided ON activity.tenant = decided.tenant AND activity.traceId = decided.traceId
     WHERE arrayExists((rule, active) ->
       active < activity.firstArrival AND (
         indexOf(decided.rules, rule) = 0
         OR decided.seens[indexOf(decided.rules, rule)] < activity.lastArrival
         OR decided.dues[indexOf(decided.rules, rule)] = 1),
       {rules:Array(String)}, {actives:Array(Int64)})
     ORDER BY activity.firstArrival, activity.tenant, activity.traceId
     LIMIT {limit:UInt32}`,
    {
      from: fromMs,
      to: toMs,
      since: Math.trunc(query.sinceMs),
      now: Math.trunc(query.nowMs),
      rules: query.rules.map(({ rule }) => rule),
      actives: query.rules.map(({ activeFromMs }) => Math.trunc(activeFromMs)),
      limit: query.limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
  return rows.map(toActivity);
}
