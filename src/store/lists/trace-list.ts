import type {
  Listed,
  ListedTrace,
  ListFilters,
  ListKey,
  ListPage,
  ScoreBrief,
  SessionKey,
} from '../contracts/lists.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import type { DecisionStatus, StatusCounts } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { ScoreSource } from '../../domain/score.ts';
import type { Database } from '../database.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from '../spans/trace-keys.ts';
import {
  startOf,
  buildConditions,
  OF_RUNS,
  ofTimes,
  type Conditions,
  buildDecided,
  OF_VALUES,
} from './list-conditions.ts';
import { SMALL_BLOCKS, leaveOutRepeats, scanPage, type Candidates } from './scan-page.ts';
import { readMainRuns } from '../tables/runs.ts';
import type { Keyed } from './keyset-page.ts';
import { agentSeenSql } from '../spans/agent-signal-sql.ts';

/** Trace at a start, which may be out of date. */
export interface TraceCandidate extends TraceKey {
  readonly atMs: number;
  /** False for a trace without a run. */
  readonly isRead: boolean;
}

/** Rows of one source of candidates. */
export interface CandidateRange {
  readonly after: ListKey | undefined;
  readonly limit: number;
}

/** Key of a trace: two tenants may have the same trace id. */
export function keyOf({ atMs, traceId, tenant }: TraceCandidate): ListKey {
  return { atMs, id: `${traceId} ${tenant}` };
}

/** Parameters of a cursor of traces. */
export function afterParams(after: ListKey | undefined) {
  const [id = '', ...tenant] = after?.id.split(' ') ?? [];
  return after === undefined ? {} : { afterMs: after.atMs, afterId: id, afterTenant: tenant.join(' ') };
}

/** Trace with its run, or without one while it waits. */
export interface FoundTrace extends TraceKey {
  readonly startedAtMs: number;
  readonly run: RunRecord | null;
}

/** Adds current scores and decisions to traces. */
export async function addFacts(
  database: Database,
  traces: readonly FoundTrace[],
): Promise<readonly ListedTrace[]> {
  const [scores, decisions] = await Promise.all([
    readBriefs(database, traces),
    countDecisions(database, traces),
  ]);
  return traces.map((trace) => {
    const name = joinTraceKey(trace);
    return { ...trace, scores: scores.get(name) ?? [], decisions: decisions.get(name) ?? {} };
  });
}

interface BriefRow extends TraceKey {
  readonly scoreId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly higherIsBetter: boolean | null;
  readonly source: ScoreSource;
}

/**
 * Reads the scores of traces. A score is never of an earlier day than its trace, by the clocks of both: so the primary key leaves out
 * older days.
 */
async function readBriefs(
  database: Database,
  traces: readonly FoundTrace[],
): Promise<Map<string, ScoreBrief[]>> {
  const found = new Map<string, ScoreBrief[]>();
  for (const slice of splitIntoSlices(traces)) {
    const firstMs = Math.min(Date.now(), ...slice.map(({ startedAtMs }) => startedAtMs));
    const rows = await database.rows<BriefRow>(
      `SELECT Tenant AS tenant, TraceId AS traceId, toString(ScoreId) AS scoreId, Scorer AS scorer, Score AS score, Label AS label,
         HigherIsBetter AS higherIsBetter, Source AS source
       FROM scores FINAL
       PREWHERE ${IN_KEYS} AND Day >= toDate(fromUnixTimestamp64Milli({first:Int64}, 'UTC'))
       ORDER BY Scorer, TargetId, ScoreId`,
      { ...keyParams(slice), first: startOf(firstMs - 2 * DAY_MS) },
    );
    for (const { tenant, traceId, ...brief } of rows) {
      const key = joinTraceKey({ tenant, traceId });
      found.set(key, [...(found.get(key) ?? []), brief]);
    }
  }
  return found;
}

/** Counts the current decisions of traces by status. Keyed by `joinTraceKey`. */
async function countDecisions(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, StatusCounts>> {
  const found = new Map<string, StatusCounts>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<TraceKey & { status: DecisionStatus; decisions: string }>(
      `SELECT Tenant AS tenant, TraceId AS traceId, Status AS status, count() AS decisions
       FROM decisions FINAL WHERE ${IN_KEYS} GROUP BY Tenant, TraceId, Status ORDER BY status`,
      keyParams(slice),
    );
    for (const row of rows) {
      const name = joinTraceKey(row);
      found.set(name, { ...found.get(name), [row.status]: Number(row.decisions) });
    }
  }
  return found;
}

/** First run of a trace. */
export interface RunStart extends TraceCandidate, SessionKey {}

/**
 * Reads first runs by their start, newest first.
 * @param further condition beside the filters
 */
export async function readRunStarts(
  database: Database,
  filters: ListFilters,
  { after, limit, further }: CandidateRange & { readonly further: Conditions },
): Promise<RunStart[]> {
  const { sql, params } = buildConditions(filters, OF_RUNS, ofTimes('StartedAt'));
  const rows = await database.rows<Omit<RunStart, 'atMs'> & { readonly atMs: string }>(
    `SELECT Tenant AS tenant, TraceId AS traceId, SessionId AS sessionId, toString(toUnixTimestamp64Milli(StartedAt)) AS atMs
     FROM ${runTable(filters)} ${sql} AND ${further.sql} AND IsDeleted = 0 ${after === undefined ? '' : AFTER_RUN}
     ORDER BY StartedAt DESC, TraceId DESC, Tenant DESC
     LIMIT {limit:UInt32} ${SMALL_BLOCKS}`,
    { ...params, ...further.params, ...afterParams(after), limit },
  );
  return rows.map((row) => ({ ...row, atMs: Number(row.atMs), isRead: true }));
}

/** Condition for `afterParams`. Its first part serves the primary key. */
const AFTER_RUN = `AND StartedAt <= fromUnixTimestamp64Milli({afterMs:Int64})
  AND (StartedAt, TraceId, Tenant) < (fromUnixTimestamp64Milli({afterMs:Int64}), {afterId:String}, {afterTenant:String})`;

/** Returns the source of a list of runs, up to its first condition. The traces of an id, a session or a user are found by indexes of `runs`, all others in the order of the list. */
function runTable({ traceId, sessionId, userId }: ListFilters): string {
  const asksId = [traceId, sessionId, userId].some((asked) => asked !== undefined);
  return asksId ? "runs WHERE Target = 'trace' AND TargetId = TraceId AND" : 'run_starts WHERE';
}

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
