import type {
  Listed,
  ListedTrace,
  ListFilters,
  ListKey,
  ListPage,
  ScoreBrief,
  SessionKey,
  TraceFinding,
} from '../contracts/lists.ts';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../contracts/stores.ts';
import type { DecisionStatus } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import { BAD_VERDICTS, type ScoreSource, type Verdict } from '../../domain/score.ts';
import type { Database } from '../database.ts';
import { IN_KEYS, keyParams, readSlices } from '../spans/trace-keys.ts';
import {
  startOf,
  buildConditions,
  OF_RUNS,
  OF_SCORES,
  OF_TEXTS,
  ofTimes,
  type Conditions,
  buildDecided,
  OF_VALUES,
} from './list-conditions.ts';
import { CLOCKS_MS } from '../sums/coverage.ts';
import { DISTANCE } from './score-list.ts';
import { SMALL_BLOCKS, leaveOutRepeats, scanPage, type Candidates } from './scan-page.ts';
import { readMainRuns, readStartedRuns } from '../tables/runs.ts';
import { currentOfKeys } from '../tables/scores.ts';
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
    readDecided(database, traces),
  ]);
  return traces.map((trace) => {
    const name = joinTraceKey(trace);
    const found = scores.get(name) ?? [];
    return {
      ...trace,
      scores: found.map(({ brief }) => brief),
      finding: findWorst(found),
      ...sumUp(decisions.get(name) ?? []),
    };
  });
}

interface BriefRow extends TraceKey {
  readonly scoreId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly higherIsBetter: boolean | null;
  readonly source: ScoreSource;
  /** Distance to the best value; null without a range or a direction. */
  readonly distance: number | null;
  /** JSON of verdicts; '' without any. */
  readonly verdicts: string;
}

/** Score with what its list leaves out. */
type FoundScore = Pick<BriefRow, 'distance' | 'verdicts'> & { readonly brief: ScoreBrief };

/**
 * Reads the scores of traces. A score is never of an earlier day than its trace, by the clocks of both: so the primary key leaves out
 * older days.
 */
async function readBriefs(
  database: Database,
  traces: readonly FoundTrace[],
): Promise<Map<string, FoundScore[]>> {
  const rows = await readSlices(traces, (slice) => {
    const firstMs = Math.min(Date.now(), ...slice.map(({ startedAtMs }) => startedAtMs));
    return database.rows<BriefRow>(
      `SELECT Tenant AS tenant, TraceId AS traceId, toString(ScoreId) AS scoreId, Scorer AS scorer, Score AS score, Label AS label,
         HigherIsBetter AS higherIsBetter, Source AS source, ${DISTANCE} AS distance, Verdicts AS verdicts
       FROM ${currentOfKeys("Day >= toDate(fromUnixTimestamp64Milli({first:Int64}, 'UTC'))")}
       ORDER BY Scorer, TargetId, ScoreId`,
      { ...keyParams(slice), first: startOf(firstMs - 2 * DAY_MS) },
    );
  });
  const scores = rows.map(({ tenant, traceId, distance, verdicts, ...brief }) => ({
    key: joinTraceKey({ tenant, traceId }),
    brief: { ...brief, directed: distance === null ? null : 1 - distance },
    distance,
    verdicts,
  }));
  return Map.groupBy(scores, ({ key }) => key);
}

/** Finds the first bad verdict of the worst score that has one, a contradiction before other ones. */
function findWorst(scores: readonly FoundScore[]): TraceFinding | null {
  const worstFirst = scores
    .filter(({ verdicts }) => verdicts !== '')
    .toSorted((a, b) => (b.distance ?? 0) - (a.distance ?? 0));
  for (const { brief, verdicts } of worstFirst) {
    const bad = (JSON.parse(verdicts) as Verdict[]).filter(({ verdict }) => BAD_VERDICTS.has(verdict));
    const first = bad.find(({ verdict }) => verdict === 'contradicted') ?? bad[0];
    if (first !== undefined) {
      const { verdict, statement, quote } = first;
      return { scorer: brief.scorer, verdict, claim: statement, quote: quote || null };
    }
  }
  return null;
}

interface DecidedRow {
  readonly scorer: string;
  readonly status: DecisionStatus;
  readonly reason: string;
}

/** Reads the current decisions of traces. Keyed by `joinTraceKey`. */
async function readDecided(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, DecidedRow[]>> {
  const rows = await readSlices(keys, (slice) =>
    database.rows<TraceKey & DecidedRow>(
      `SELECT Tenant AS tenant, TraceId AS traceId, Scorer AS scorer, Status AS status, if(Status = 'scored', '', Reason) AS reason
       FROM decisions FINAL PREWHERE ${IN_KEYS} ORDER BY status, Rule, scorer, TargetId`,
      keyParams(slice),
    ),
  );
  return Map.groupBy(rows, joinTraceKey);
}

/** Counts decisions by status, and lists the reasons of scorers that gave no score to any rule. */
function sumUp(decided: readonly DecidedRow[]): Pick<ListedTrace, 'decisions' | 'notScored'> {
  const counts: Partial<Record<DecisionStatus, number>> = {};
  decided.forEach(({ status }) => (counts[status] = (counts[status] ?? 0) + 1));
  const scored = new Set(decided.filter(({ status }) => status === 'scored').map(({ scorer }) => scorer));
  const reasons = new Map(
    decided.filter(({ scorer }) => !scored.has(scorer)).map(({ scorer, reason }) => [scorer, reason]),
  );
  return { decisions: counts, notScored: [...reasons].map(([scorer, reason]) => ({ scorer, reason })) };
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
  const { sql, params } = buildConditions(filters, OF_TEXTS, ofTimes('StartedAt'));
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

/** Worst scores for each trace that is asked for, and beyond: a trace has several, and some are out of date. */
const SCORES_A_TRACE = 20;
const SPARE_SCORES = 1_000;

/** Traces beyond the limit that are looked up first; then twice as many each time. */
const SPARE_TRACES = 20;

/** Lists traces by their worst current score as asked, the worst first, then the newest. Scores without a range or a direction do not count. */
export async function listWorstTraces(
  database: Database,
  filters: ListFilters,
  limit: number,
): Promise<readonly ListedTrace[]> {
  const rows = await readWorst(database, filters, SCORES_A_TRACE * limit + SPARE_SCORES);
  const found: ListedTrace[] = [];
  let at = 0;
  for (let size = limit + SPARE_TRACES; at < rows.length && found.length < limit; size *= 2) {
    const slice = rows.slice(at, at + Math.min(size, MAX_KEYS));
    const runs = await readRuns(slice, filters, (keys, asked) => readMainRuns(database, keys, asked));
    const traces = slice.flatMap(({ tenant, traceId }): FoundTrace[] => {
      const run = runs.get(joinTraceKey({ tenant, traceId }));
      return run === undefined ? [] : [{ tenant, traceId, startedAtMs: run.startedAt, run }];
    });
    const listed = await addFacts(database, traces);
    found.push(...listed.filter((trace) => isAsked(trace, filters)));
    at += slice.length;
  }
  return found.slice(0, limit);
}

/**
 * Reads the traces of the worst scores. No score is further from its best value than 1, so the newest scores at that distance are the worst
 * of all, when there are enough such scores: the store finds them in the order of time, and reads no other score.
 */
async function readWorst(database: Database, filters: ListFilters, scores: number): Promise<TraceKey[]> {
  const { sql, params } = buildConditions(filters, OF_SCORES, ofTimes('TraceTimestamp'));
  const read = (condition: string, order: string) =>
    database.rows<TraceKey & { readonly n: number }>(
      `SELECT tenant, traceId, n FROM (
         SELECT *, toUInt32(count() OVER ()) AS n FROM (
           SELECT Tenant AS tenant, TraceId AS traceId, TraceTimestamp AS at, ${DISTANCE} AS distance
           FROM score_starts WHERE ${sql} AND TraceId != '' AND IsDeleted = 0 AND ${condition}
           ORDER BY ${order} LIMIT {scores:UInt32}))
       ORDER BY distance DESC, toUnixTimestamp64Milli(at) DESC LIMIT 1 BY tenant, traceId`,
      { ...params, scores },
    );
  const farthest = await read(`${DISTANCE} >= 1`, 'TraceTimestamp DESC');
  return farthest[0]?.n === scores
    ? farthest
    : read(`isNotNull(${DISTANCE})`, 'distance DESC, TraceTimestamp DESC');
}

/** Reads traces by their ids. */
export async function readListedTraces(
  database: Database,
  keys: readonly TraceKey[],
): Promise<readonly ListedTrace[]> {
  const runs = await readRuns(keys, {}, (slice, asked) => readMainRuns(database, slice, asked));
  const found = keys.flatMap((key) => {
    const run = runs.get(joinTraceKey(key));
    return run === undefined ? [] : [{ ...key, startedAtMs: run.startedAt, run }];
  });
  return addFacts(database, found);
}

/**
 * Lists the tenants that have a run of a trace, or a score of spanscore. A posted score may name a trace that never comes. The current rows are
 * found without FINAL, which would read all rows of other tenants' keys.
 */
export async function readTenantsOf(database: Database, traceId: string): Promise<readonly string[]> {
  const rows = await database.rows<{ tenant: string }>(
    `SELECT DISTINCT tenant FROM (
       SELECT Tenant AS tenant FROM runs WHERE TraceId = {traceId:String}
       GROUP BY Tenant, Target, TargetId HAVING NOT argMax(IsDeleted, Version)
       UNION ALL
       SELECT Tenant AS tenant FROM scores PREWHERE TraceId = {traceId:String} WHERE ScoredBy = ''
       GROUP BY Tenant, Scorer, Day, ScoreId HAVING NOT argMax(IsDeleted, (Version, WrittenAt)))
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
  const further = buildScored(filters);
  const sources = await Promise.all([
    ...splitSearch(filters).map((asked) => readRunStarts(database, asked, { ...range, further })),
    asksRun(filters) ? [] : readUnread(database, filters, range),
  ]);
  const ends = sources.flatMap((rows) => (rows.length < range.limit ? [] : (rows.at(-1) ?? [])));
  const end = ends.toSorted(byNewest)[0];
  const rows = leaveOutRepeats(
    sources.flat(),
    (row) => `${row.atMs} ${keyOf(row).id} ${row.isRead ? 'run' : ''}`,
  );
  const found = rows.filter((row) => end === undefined || byNewest(row, end) <= 0);
  return { found: found.toSorted(byNewest), next: end === undefined ? null : keyOf(end) };
}

/** Splits a search into one for texts, and one for each kind of id: each has an index of its own. */
function splitSearch(filters: ListFilters): ListFilters[] {
  const { q, ...rest } = filters;
  if (q === undefined) {
    return [filters];
  }
  const ids = { userId: q, sessionId: q, traceId: q.toLowerCase() };
  const byIds = Object.entries(ids).flatMap(([name, id]): ListFilters[] => {
    const asked = rest[name as keyof typeof ids];
    return asked === undefined || asked.includes(id) ? [{ ...rest, [name]: [id] }] : [];
  });
  return [filters, ...byIds];
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
export function buildScored(filters: ListFilters): Conditions {
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
  const [read = [], unread = []] = [true, false].map((is) =>
    candidates.filter(({ isRead }) => isRead === is),
  );
  const [started, arrived] = await Promise.all([
    readRuns(read, filters, (slice, asked) => readStartedRuns(database, slice, asked)),
    readRuns(unread, filters, (slice, asked) => readMainRuns(database, slice, asked)),
  ]);
  const traces = candidates.flatMap((candidate): FoundTrace[] => {
    const { tenant, traceId, atMs, isRead } = candidate;
    const run = (isRead ? started : arrived).get(joinTraceKey(candidate)) ?? null;
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
async function readRuns<Key extends TraceKey>(
  keys: readonly Key[],
  filters: ListFilters,
  read: (slice: readonly Key[], asked: Conditions) => Promise<Map<string, RunRecord>>,
): Promise<Map<string, RunRecord>> {
  const decided = buildDecided(filters, IN_KEYS);
  const asked = buildConditions(filters, OF_RUNS);
  const sql = `${asked.sql} AND ${decided.sql}`;
  const runs = await readSlices(keys, async (slice) => {
    const params = { ...keyParams(slice), ...asked.params, ...decided.params };
    return [...(await read(slice, { sql, params }))];
  });
  return new Map(runs);
}

/**
 * Reads traces of agents that came lately and have no decision, by their start. Some may have a run. Decisions are found by the time of writing,
 * which is not before their evidence, by clocks that differ.
 */
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
           SELECT Tenant, TraceId FROM decision_arrivals
           WHERE WrittenAt >= now64(3) - toIntervalMillisecond(${UNREAD_MS + CLOCKS_MS})
             AND EvidenceUntil >= now64(3) - toIntervalMillisecond(${UNREAD_MS}))
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
