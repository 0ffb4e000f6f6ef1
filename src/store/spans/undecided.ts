import { joinTraceKey, type TraceActivity, type UndecidedQuery } from '../contracts/stores.ts';
import { activityColumns, toActivity, type ActivityRow } from './activity.ts';
import { WHOLE_RULE } from '../../domain/decision.ts';
import type { Database } from '../database.ts';
import { cellParams, IN_SHARDS } from './trace-keys.ts';

/** Limit of arrival rows in one query of the sweep; a larger number is divided into ranges of time. */
const ARRIVALS_PER_QUERY = 200_000;

/**
 * Finds the traces of the sweep: traces with agent activity and an arrival at or after `sinceMs` that a scorer of a rule that covers
 * them has not decided, or decided on older evidence. Reads the oldest range first; each range is one query, which limits memory.
 */
export async function readUndecided(database: Database, query: UndecidedQuery): Promise<TraceActivity[]> {
  if (query.cells.length === 0 || query.limit <= 0) {
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
export async function readRanges(
  database: Database,
  { sinceMs, nowMs }: Pick<UndecidedQuery, 'sinceMs' | 'nowMs'>,
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

/** Traces with an arrival within the parameters `from` and `to`. */
export const CANDIDATES = `SELECT DISTINCT Tenant, TraceId FROM trace_arrivals
  WHERE ArrivedAt >= fromUnixTimestamp64Milli({from:Int64}) AND ArrivedAt < fromUnixTimestamp64Milli({to:Int64})`;

/**
 * Per trace: the rule and target of its rows, the evidence of a verdict on the whole rule (-1 without one), the scorers with
 * rows, and the evidence of each. Parameters: `from`, `to` and `rules`.
 */
export const DECIDED = `
  SELECT tenant, traceId, groupArray((rule, verdictSeen, scorers, seens)) AS targets
  FROM (
    SELECT Tenant AS tenant, TraceId AS traceId, Rule AS rule,
      maxIf(seen, isVerdict) - (countIf(isVerdict) = 0) AS verdictSeen,
      groupArrayIf(Scorer, Scorer != '${WHOLE_RULE}') AS scorers, groupArrayIf(seen, Scorer != '${WHOLE_RULE}') AS seens
    FROM (
      SELECT Tenant, TraceId, Rule, Target, TargetId, Scorer, toUnixTimestamp64Milli(EvidenceUntil) AS seen,
        Scorer = '${WHOLE_RULE}' AND Status != 'scored' AS isVerdict
      FROM decisions FINAL
      WHERE (Tenant, TraceId) IN (${CANDIDATES}) AND Rule IN {rules:Array(String)})
    GROUP BY tenant, traceId, rule, Target, TargetId)
  GROUP BY tenant, traceId`;

/** Last arrival up to which a trace was read; 0 for a trace that was not. */
const READ_UNTIL = `
  SELECT Tenant AS tenant, TraceId AS traceId, toUnixTimestamp64Milli(max(EvidenceUntil)) AS until
  FROM runs
  WHERE (Tenant, TraceId) IN (${CANDIDATES}) AND Target = 'trace' AND ReadFrom = 'content'
  GROUP BY tenant, traceId`;

async function undecidedIn(
  database: Database,
  query: UndecidedQuery,
  fromMs: number,
  toMs: number,
): Promise<TraceActivity[]> {
  const shards = query.shards ?? null;
  const readsRuns = query.cells.some(({ ofSessions = false }) => ofSessions);
  const rows = await database.rows<ActivityRow>(
    `SELECT activity.* FROM (
       SELECT ${activityColumns(database)} FROM trace_activity
       WHERE (Tenant, TraceId) IN (${CANDIDATES})
         ${shards === null ? '' : `AND ${IN_SHARDS}`}
       GROUP BY Tenant, TraceId
       HAVING agentSeen = 1 AND knownLate = 0) AS activity
     LEFT JOIN (${DECIDED}) AS decided ON activity.tenant = decided.tenant AND activity.traceId = decided.traceId
     ${readsRuns ? `LEFT JOIN (${READ_UNTIL}) AS seen ON activity.tenant = seen.tenant AND activity.traceId = seen.traceId` : ''}
     WHERE arrayExists((rule, scorer, since, until, ofSessions) ->
       since <= activity.firstArrival AND activity.firstArrival < until AND if(ofSessions,
         ${readsRuns ? 'seen.until < activity.lastArrival' : '0'},
         NOT arrayExists(target -> target.1 = rule, decided.targets)
         OR arrayExists(target -> target.1 = rule AND if(target.2 >= 0,
              target.2 < activity.lastArrival,
              indexOf(target.3, scorer) = 0 OR target.4[indexOf(target.3, scorer)] < activity.lastArrival),
            decided.targets)),
       {cellRules:Array(String)}, {cellScorers:Array(String)}, {cellsSince:Array(Int64)}, {cellsUntil:Array(Int64)},
       {cellsOfSessions:Array(UInt8)})
     ORDER BY activity.firstArrival, activity.tenant, activity.traceId
     LIMIT {limit:UInt32}`,
    {
      from: fromMs,
      to: toMs,
      rules: [...new Set(query.cells.map(({ rule }) => rule))],
      ...cellParams(query.cells),
      cellsOfSessions: query.cells.map(({ ofSessions = false }) => (ofSessions ? 1 : 0)),
      limit: query.limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
  return rows.map(toActivity);
}
