import { TupleParam } from '@clickhouse/client';
import { BACKFILL_RULES, COMMAND_RULE, type Decision, HELD_BACK, WHOLE_RULE } from '../../domain/decision.ts';
import {
  type DueQuery,
  type HeldBackQuery,
  joinTraceKey,
  type RepairPage,
  type RepairQuery,
  type TraceActivity,
  type TraceKey,
  type UndecidedQuery,
} from '../contracts/stores.ts';
import { bind, type Database, readValue } from '../database.ts';
import { activityColumns, type ActivityRow, toActivity } from '../spans/arrivals.ts';
import { pairParams, IN_KEYS, IN_SHARDS } from '../spans/trace-keys.ts';
import { decisionRows } from '../table-rows.ts';
import type { QueryParams } from '../values.ts';

/**
 * Creates the store of current decisions: one row for each (tenant, trace, target, rule, scorer), the one with the newest
 * evidence.
 */
export function createDecisionStore(database: Database) {
  return bind(database, {
    ofTraces,
    undecided: readUndecided,
    due: readDue,
    heldBack: readHeldBack,
    write: decisionRows.write,
  });
}

export type DecisionStore = ReturnType<typeof createDecisionStore>;

/** Reads the current rows of these traces, keyed by `joinTraceKey`. */
function ofTraces(database: Database, keys: readonly TraceKey[]): Promise<Map<string, Decision[]>> {
  const from = `FROM decisions FINAL PREWHERE ${IN_KEYS} ORDER BY Tenant, TraceId, Target, TargetId, Rule, Scorer`;
  return decisionRows.readByTrace(database, from, keys);
}

/** Condition on the shards of decisions on sessions: their target id stands in the place of the trace id. */
const SESSION_IN_SHARDS = IN_SHARDS.replace('TraceId', 'TargetId');

const IS_DEFERRED = `Status = 'deferred' AND NOT startsWith(Rule, '${BACKFILL_RULES}')`;
const IS_HELD = `startsWith(Reason, '${HELD_BACK}')`;
const BY_UNTIL = 'NextAttemptAt <= fromUnixTimestamp64Milli({until:Int64})';

/**
 * Finds deferred rows of live rules by the time of their next attempt alone, earliest first, without those that a budget holds
 * back. A backfill retries its own rows.
 */
function readDue(database: Database, { untilMs, ...query }: DueQuery): Promise<Decision[]> {
  const conditions = [`NOT ${IS_HELD}`, BY_UNTIL];
  const order = 'NextAttemptAt, Tenant, TraceId';
  return readDeferred(database, query, { conditions, order, params: { until: Math.trunc(untilMs) } });
}

/** Finds deferred rows of live rules that a budget holds back. */
function readHeldBack(
  database: Database,
  { untilMs, evidenceBeforeMs, order, ...query }: HeldBackQuery,
): Promise<Decision[]> {
  return readDeferred(database, query, {
    conditions: [
      IS_HELD,
      ...(untilMs === undefined ? [] : [BY_UNTIL]),
      ...(evidenceBeforeMs === undefined ? [] : ['EvidenceUntil < fromUnixTimestamp64Milli({before:Int64})']),
    ],
    order: `EvidenceUntil ${order === 'newest-first' ? 'DESC' : 'ASC'}, Tenant, TraceId, TargetId`,
    params: { until: Math.trunc(untilMs ?? 0), before: Math.trunc(evidenceBeforeMs ?? 0) },
  });
}

/**
 * Reads deferred rows of live rules. The inner query finds candidates by the index on the status; FINAL then leaves out rows that a later
 * one replaced.
 */
function readDeferred(
  database: Database,
  { shards, limit, ofSessions = false }: Pick<DueQuery, 'shards' | 'limit' | 'ofSessions'>,
  of: { readonly conditions: readonly string[]; readonly order: string; readonly params: QueryParams },
): Promise<Decision[]> {
  const isAsked = [
    ofSessions ? "TraceId = ''" : "TraceId != ''",
    IS_DEFERRED,
    ...of.conditions,
    ...(shards === null ? [] : [ofSessions ? SESSION_IN_SHARDS : IN_SHARDS]),
  ].join(' AND ');
  return decisionRows.read(
    database,
    `FROM decisions FINAL
     WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM decisions WHERE ${isAsked}) AND ${isAsked}
     ORDER BY ${of.order}
     LIMIT {limit:UInt32}`,
    { ...of.params, limit, ...(shards === null ? {} : { shards: [...shards] }) },
  );
}

export function createRepairStore(database: Database) {
  return bind(database, { read: readToRepair, count: countToRepair });
}

export type RepairStore = ReturnType<typeof createRepairStore>;

/** Reads the decisions of the next traces or sessions of a repair, at most `limit` traces or sessions. The inner query may name some whose decisions were replaced. */
async function readToRepair(database: Database, query: RepairQuery, limit: number): Promise<RepairPage> {
  const id = idColumn(query);
  const keys = await database.rows<{ tenant: string; id: string; mark: string }>(
    `SELECT DISTINCT Tenant AS tenant, ${id} AS id, ${markOf(query)} AS mark FROM decisions
     WHERE ${buildConditions(query)}
     ORDER BY mark
     LIMIT {limit:UInt32}`,
    { ...buildParams(query), limit },
  );
  if (keys.length === 0) {
    return { decisions: [], after: null };
  }
  const decisions = await decisionRows.read(
    database,
    `FROM decisions FINAL
     WHERE ${query.ofSessions ? "TraceId = '' AND " : ''}(Tenant, ${id}) IN {keys:Array(Tuple(String, String))}
       AND ${buildConditions({ ...query, after: null })}
     ORDER BY ${markOf(query)}, Tenant, ${id}, Target, TargetId, Rule, Scorer`,
    { ...buildParams(query), keys: keys.map((key) => new TupleParam([key.tenant, key.id])) },
  );
  return { decisions, after: keys.length < limit ? null : (keys.at(-1)?.mark ?? null) };
}

/** Counts the decisions after the place of the query. */
async function countToRepair(database: Database, query: RepairQuery): Promise<number> {
  const sql = `SELECT count() FROM decisions FINAL WHERE ${buildConditions(query)}`;
  return (await readValue(database, sql, buildParams(query))) ?? 0;
}

function idColumn({ ofSessions }: Pick<RepairQuery, 'ofSessions'>): string {
  return ofSessions ? 'TargetId' : 'TraceId';
}

/** SQL for the hash of a trace or a session that orders them. Two of them have the same one once in 10^9 repairs of a million. */
function markOf(query: Pick<RepairQuery, 'ofSessions'>): string {
  const [first, second] = [1, 17].map(
    (start) => `reinterpretAsUInt64(unhex(substring({orderKey:String}, ${start}, 16)))`,
  );
  return `sipHash64Keyed((${first}, ${second}), Tenant, ${idColumn(query)})`;
}

function buildConditions(query: RepairQuery): string {
  return [
    query.ofSessions ? "TraceId = '' AND Target = 'session'" : "TraceId != ''",
    `Status = {status:String} AND NOT startsWith(Rule, '${BACKFILL_RULES}') AND Rule != '${COMMAND_RULE}'`,
    'EvidenceUntil >= fromUnixTimestamp64Milli({since:Int64})',
    ...(query.scorer === undefined ? [] : ['Scorer = {scorer:String}']),
    ...(query.after === null ? [] : [`${markOf(query)} > {after:UInt64}`]),
  ].join(' AND ');
}

function buildParams({ status, scorer, sinceMs, orderKey, after }: RepairQuery): QueryParams {
  return {
    status,
    scorer: scorer ?? '',
    since: Math.max(0, Math.trunc(sinceMs)),
    orderKey,
    after: after ?? '0',
  };
}

/** Limit of arrival rows in one query of the sweep; a larger number is divided into ranges of time. */
const ARRIVALS_PER_QUERY = 200_000;

/**
 * Finds the traces of the sweep: traces with agent activity and an arrival at or after `sinceMs` that a scorer of a rule that covers
 * them has not decided, or decided on older evidence. Reads the oldest range first; each range is one query, which limits memory.
 */
export async function readUndecided(database: Database, query: UndecidedQuery): Promise<TraceActivity[]> {
  if (query.pairs.length === 0 || query.limit <= 0) {
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
  const [row] = await database.rows<{ arrivals: number; last: number }>(
    `SELECT count() AS arrivals, toUnixTimestamp64Milli(max(ArrivedAt)) AS last FROM trace_arrivals
     WHERE ArrivedAt >= fromUnixTimestamp64Milli({since:Int64})`,
    { since: Math.trunc(sinceMs) },
  );
  const end = Math.max(nowMs, row?.last ?? 0) + 1;
  const pieces = Math.max(1, Math.ceil((row?.arrivals ?? 0) / ARRIVALS_PER_QUERY));
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
  const readsRuns = query.pairs.some(({ ofSessions = false }) => ofSessions);
  const rows = await database.rows<ActivityRow>(
    `SELECT activity.* FROM (
       SELECT ${activityColumns(database)} FROM trace_activity
       WHERE (Tenant, TraceId) IN (${CANDIDATES})
         ${shards === null ? '' : `AND ${IN_SHARDS}`}
       GROUP BY Tenant, TraceId
       HAVING agentSeen AND NOT knownLate) AS activity
     LEFT JOIN (${DECIDED}) AS decided ON activity.tenant = decided.tenant AND activity.traceId = decided.traceId
     ${readsRuns ? `LEFT JOIN (${READ_UNTIL}) AS seen ON activity.tenant = seen.tenant AND activity.traceId = seen.traceId` : ''}
     WHERE arrayExists((rule, scorer, since, until, ofSessions) ->
       since <= activity.firstArrivalMs AND activity.firstArrivalMs < until AND if(ofSessions,
         ${readsRuns ? 'seen.until < activity.lastArrivalMs' : '0'},
         NOT arrayExists(target -> target.1 = rule, decided.targets)
         OR arrayExists(target -> target.1 = rule AND if(target.2 >= 0,
              target.2 < activity.lastArrivalMs,
              indexOf(target.3, scorer) = 0 OR target.4[indexOf(target.3, scorer)] < activity.lastArrivalMs),
            decided.targets)),
       {pairRules:Array(String)}, {pairScorers:Array(String)}, {pairsSince:Array(Int64)}, {pairsUntil:Array(Int64)},
       {pairsOfSessions:Array(UInt8)})
     ORDER BY activity.firstArrivalMs, activity.tenant, activity.traceId
     LIMIT {limit:UInt32}`,
    {
      from: fromMs,
      to: toMs,
      rules: [...new Set(query.pairs.map(({ rule }) => rule))],
      ...pairParams(query.pairs),
      pairsOfSessions: query.pairs.map(({ ofSessions = false }) => (ofSessions ? 1 : 0)),
      limit: query.limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
  return rows.map(toActivity);
}
