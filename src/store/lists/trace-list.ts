import type { RunRecord } from '../../domain/run-record.ts';
import type { ListedTrace, ListFilters, ListPage, Listed, ScoreBrief } from '../contracts/lists.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readMainRuns } from '../tables/runs.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from '../spans/trace-keys.ts';
import {
  buildConditions,
  buildDecided,
  OF_RUNS,
  OF_VALUES,
  ofTimes,
  type Conditions,
} from './list-conditions.ts';
import type { Keyed } from './keyset-page.ts';
import { readRunStarts } from './run-starts.ts';
import { leaveOutRepeats, scanPage, type Candidates } from './scan-page.ts';
import { addFacts, type FoundTrace } from './trace-facts.ts';
import { keyOf, type CandidateRange, type TraceCandidate, afterParams } from './trace-candidate.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { agentSeenSql } from '../spans/agent-signal-sql.ts';

/** Time since the arrival of a trace without a run within which it is listed, milliseconds. */
const UNREAD_MS = DAY_MS;

const AFTER = 'AND (atMs, traceId, tenant) < ({afterMs:Int64}, {afterId:String}, {afterTenant:String})';

/** Lists traces by their start, trace id and tenant, newest first: those with a run, and those of agents that wait. */
export function listTraces(
  database: Database,
  filters: ListFilters,
  page: ListPage,
): Promise<Listed<ListedTrace>> {
  return scanPage(
    {
      readCandidates: (after, limit) => readCandidates(database, filters, { after, limit }),
      resolve: (candidates) => resolveTraces(database, filters, candidates),
    },
    page,
  );
}

/** Reads traces by their ids. */
export async function readListedTraces(
  database: Database,
  keys: readonly TraceKey[],
): Promise<readonly ListedTrace[]> {
  const runs = await readRuns(database, keys);
  const found = keys.flatMap((key) => {
    const run = runs.get(joinTraceKey(key));
    return run === undefined ? [] : [{ ...key, startedAtMs: run.startedAt, run }];
  });
  return addFacts(database, found);
}

/** Lists the tenants that have a run of a trace, or a score of spanscore. A posted score may name a trace that never comes. */
export async function readTenantsOf(database: Database, traceId: string): Promise<readonly string[]> {
  const rows = await database.rows<{ tenant: string }>(
    `SELECT DISTINCT tenant FROM (
       SELECT Tenant AS tenant FROM runs FINAL WHERE TraceId = {traceId:String}
       UNION ALL
       SELECT Tenant AS tenant FROM scores FINAL WHERE TraceId = {traceId:String} AND ScoredBy = '')
     ORDER BY tenant`,
    { traceId },
  );
  return rows.map(({ tenant }) => tenant);
}

/** Merges the runs and the traces without a run, up to the place where one of them has more. */
async function readCandidates(
  database: Database,
  filters: ListFilters,
  range: CandidateRange,
): Promise<Candidates<TraceCandidate>> {
  const sources = await Promise.all([
    readRunStarts(database, filters, { ...range, further: buildScored(filters) }),
    asksRun(filters) ? [] : readUnread(database, filters, range),
  ]);
  const ends = sources.flatMap((rows) => (rows.length < range.limit ? [] : (rows.at(-1) ?? [])));
  const end = ends.toSorted(byNewest)[0];
  const rows = sources.flatMap((source) => leaveOutRepeats(source, (row) => `${row.atMs} ${keyOf(row).id}`));
  const found = rows.filter((row) => end === undefined || byNewest(row, end) <= 0);
  return { found: found.toSorted(byNewest), next: end === undefined ? null : keyOf(end) };
}

/** Returns true for filters that a trace without a run cannot meet. */
function asksRun(filters: ListFilters): boolean {
  return Object.entries(filters).some(([name, asked]) => asked !== undefined && !OF_UNREAD.has(name));
}

/** Filters that a trace without a run can meet. */
const OF_UNREAD: ReadonlySet<string> = new Set<keyof ListFilters>([
  'tenant',
  'sinceMs',
  'untilMs',
  'traceId',
]);

function byNewest(a: TraceCandidate, b: TraceCandidate): number {
  return b.atMs - a.atMs || compareText(b.traceId, a.traceId) || compareText(b.tenant, a.tenant);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Builds the condition that a trace has a score as asked. Its scores are of the trace, or of an agent or a call that starts later. */
function buildScored(filters: ListFilters): Conditions {
  const { sql, params } = buildConditions(filters, OF_VALUES);
  if (sql === '1') {
    return { sql, params };
  }
  const { sql: within } = buildConditions(
    { tenant: filters.tenant, sinceMs: filters.sinceMs },
    {
      tenant: 'Tenant = {tenant:String}',
      sinceMs: ofTimes('TraceTimestamp').sinceMs ?? '1',
    },
  );
  return {
    sql: `(Tenant, TraceId) IN (SELECT Tenant, TraceId FROM score_starts WHERE ${sql} AND ${within} AND IsDeleted = 0)`,
    params,
  };
}

async function resolveTraces(
  database: Database,
  filters: ListFilters,
  candidates: readonly TraceCandidate[],
): Promise<readonly Keyed<ListedTrace>[]> {
  const runs = await readRuns(database, candidates, filters);
  const traces = candidates.flatMap((candidate): FoundTrace[] => {
    const { tenant, traceId, atMs, isRead } = candidate;
    const run = runs.get(joinTraceKey(candidate)) ?? null;
    const isCurrent = isRead ? run?.startedAt === atMs : run === null;
    return isCurrent ? [{ tenant, traceId, startedAtMs: atMs, run }] : [];
  });
  const listed = await addFacts(database, traces);
  return listed
    .filter((trace) => isAsked(trace, filters))
    .map((item) => {
      const { tenant, traceId, startedAtMs: atMs } = item;
      return { key: keyOf({ tenant, traceId, atMs, isRead: item.run !== null }), item };
    });
}

/** Returns false for a trace without a run that is decided: it is a part of another run. */
function isAsked({ run, decisions, scores }: ListedTrace, filters: ListFilters): boolean {
  return run === null
    ? Object.keys(decisions).length === 0
    : buildConditions(filters, OF_VALUES).sql === '1' || scores.some((score) => hasValue(score, filters));
}

function hasValue({ scorer, source, score }: ScoreBrief, filters: ListFilters): boolean {
  const { min = -Infinity, max = Infinity } = filters;
  const isNamed = filters.scorer?.includes(scorer) ?? true;
  const isOfSource = filters.source?.includes(source) ?? true;
  return isNamed && isOfSource && score >= min && score <= max;
}

/** Reads the first runs of traces that are as asked. Keyed by `joinTraceKey`. */
async function readRuns(
  database: Database,
  keys: readonly TraceKey[],
  filters: ListFilters = {},
): Promise<Map<string, RunRecord>> {
  const found = new Map<string, RunRecord>();
  for (const slice of splitIntoSlices(keys)) {
    const decided = buildDecided(filters, IN_KEYS);
    const asked = buildConditions(filters, OF_RUNS);
    const runs = await readMainRuns(database, slice, {
      sql: `${asked.sql} AND ${decided.sql}`,
      params: { ...keyParams(slice), ...asked.params, ...decided.params },
    });
    runs.forEach((run, name) => found.set(name, run));
  }
  return found;
}

/** Reads traces of agents that came lately and have no decision, by their start. Some may have a run. */
async function readUnread(
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
