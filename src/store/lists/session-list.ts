import { DAY_MS } from '../../domain/durations.ts';
import { compareValues } from '../../domain/compare-values.ts';
import {
  joinSessionKey,
  type Listed,
  type ListedSession,
  type ListFilters,
  type ListPage,
  type SessionKey,
} from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import { IS_TURN, TARGET_ID } from '../tables/sessions.ts';
import { scoreRows } from '../table-rows.ts';
import { readSlices, WITHOUT_TRACE } from '../spans/trace-keys.ts';
import { fromInteger } from '../values.ts';
import { buildConditions, OF_DECISIONS, OF_RUNS, OF_VALUES, startOf } from './list-conditions.ts';
import { DISTANCE } from './score-list.ts';
import type { Keyed } from './keyset-page.ts';
import { readRunStarts, type RunStart, keyOf, type CandidateRange } from './trace-list.ts';
import { leaveOutRepeats, scanPage, type Candidates } from './scan-page.ts';

/**
 * Lists sessions by the start of their first turn, newest first: the scan finds each session at its first turn. A condition on runs holds
 * for one of the turns, one on scores or decisions for the session or one of its turns.
 */
export async function listSessions(
  database: Database,
  asked: ListFilters,
  page: ListPage,
): Promise<Listed<ListedSession>> {
  const filters =
    asked.traceId === undefined ? asked : { ...asked, sessionId: await readSessionIds(database, asked) };
  return scanPage(
    {
      readCandidates: (after, limit) => readTurnStarts(database, filters, { after, limit }),
      resolve: (candidates) => resolveSessions(database, filters, candidates),
    },
    page,
  );
}

/** Most tenants of one session id that are found. */
const MAX_TENANTS = 100;

/** Reads the sessions of an id that have a turn, by their tenants. */
export async function readSessionsOf(
  database: Database,
  sessionId: string,
  tenant: string | undefined,
): Promise<readonly ListedSession[]> {
  const filters = { tenant, sessionId: [sessionId] };
  const { items } = await listSessions(database, filters, { limit: MAX_TENANTS });
  return items.toSorted((a, b) => compareValues(a.tenant, b.tenant));
}

/** Reads the ids of the sessions of traces. */
async function readSessionIds(
  database: Database,
  { tenant, traceId, sessionId }: ListFilters,
): Promise<string[]> {
  const { sql, params } = buildConditions({ tenant, traceId, sessionId }, OF_RUNS);
  const rows = await database.rows<{ id: string }>(
    `SELECT DISTINCT SessionId AS id FROM runs FINAL WHERE ${IS_TURN} AND ${sql}`,
    params,
  );
  return rows.map(({ id }) => id);
}

async function readTurnStarts(
  database: Database,
  { tenant, sinceMs, untilMs, sessionId }: ListFilters,
  { after, limit }: CandidateRange,
): Promise<Candidates<RunStart>> {
  const found = await readRunStarts(
    database,
    { tenant, sinceMs, untilMs, sessionId },
    { after, limit, further: { sql: "SessionId != ''", params: {} } },
  );
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    found: leaveOutRepeats(found, (turn) => `${turn.atMs} ${keyOf(turn).id}`),
    next: last === undefined ? null : keyOf(last),
  };
}

async function resolveSessions(
  database: Database,
  filters: ListFilters,
  candidates: readonly RunStart[],
): Promise<readonly Keyed<ListedSession>[]> {
  const sessions = await readSessions(database, filters, candidates);
  const first = candidates.flatMap((turn) => {
    const session = sessions.get(joinSessionKey(turn));
    return session?.firstTraceId === turn.traceId && session.startedAtMs === turn.atMs
      ? [{ turn, session }]
      : [];
  });
  const kept = await keepAsked(database, filters, first);
  const found = kept.map(({ session }) => session);
  const [scores, worst] = await Promise.all([
    readSessionScores(database, found),
    readWorstOfSessions(database, found),
  ]);
  return kept.map(({ turn, session }) => {
    const name = joinSessionKey(session);
    return {
      key: keyOf(turn),
      item: { ...session, scores: scores.get(name) ?? [], worst: worst.get(name) ?? null },
    };
  });
}

/** Keeps the sessions of which one current score, and one current decision, is as asked: of the session or of a turn. */
async function keepAsked<Found extends { readonly session: SessionKey }>(
  database: Database,
  filters: ListFilters,
  found: readonly Found[],
): Promise<readonly Found[]> {
  const scored = buildConditions(filters, OF_VALUES);
  const decided = buildConditions(filters, OF_DECISIONS);
  const questions = [
    { ...scored, rows: `FROM scores FINAL PREWHERE ${OF_SESSIONS} WHERE ${scored.sql}` },
    { ...decided, rows: `${FROM_TURNS} AND ${isDecided(decided.sql)}` },
  ].filter(({ sql }) => sql !== '1');
  const keys = found.map(({ session }) => session);
  const answers = await Promise.all(
    questions.map(async ({ rows, params }) => {
      const kept = await readSlices(keys, (slice) =>
        database.rows<SessionKey>(`SELECT DISTINCT Tenant AS tenant, SessionId AS sessionId ${rows}`, {
          ...params,
          ...sessionParams(slice),
        }),
      );
      return new Set(kept.map(joinSessionKey));
    }),
  );
  return found.filter(({ session }) => answers.every((names) => names.has(joinSessionKey(session))));
}

/** Returns SQL for whether a current decision on a turn, or on its session, is as asked. */
function isDecided(asked: string): string {
  return `(
    (Tenant, TraceId) IN (
      SELECT Tenant, TraceId FROM decisions FINAL PREWHERE (Tenant, TraceId) IN (${TURN_KEYS}) WHERE ${asked})
    OR (Tenant, ${TARGET_ID}) IN (
      SELECT Tenant, TargetId FROM decisions FINAL
      WHERE Tenant IN {tenants:Array(String)} AND TraceId = '' AND Target = 'session' AND ${asked}))`;
}

type SessionFacts = Omit<ListedSession, 'scores' | 'worst'> & { readonly firstTraceId: string };

interface FactsRow extends SessionKey {
  readonly firstTraceId: string;
  readonly startedAtMs: string;
  readonly lastTurnMs: string;
  readonly turnCount: string;
  readonly userId: string;
  readonly agents: string[];
  readonly services: string[];
  readonly totalTokens: string | null;
  readonly costUsd: number | null;
}

/** Condition on the rows of sessions, with `sessionParams`. */
const OF_SESSIONS = 'SessionId IN {sessionIds:Array(String)} AND Tenant IN {tenants:Array(String)}';

/** Keys of the turns of sessions, by the index on the session. Some are out of date. */
const TURN_KEYS = `SELECT Tenant, TraceId FROM runs WHERE Target = 'trace' AND ${OF_SESSIONS}`;

const FROM_TURNS = `FROM runs FINAL PREWHERE (Tenant, TraceId) IN (${TURN_KEYS})
  WHERE ${IS_TURN} AND TargetId = TraceId AND SessionId IN {sessionIds:Array(String)}`;

/** Reads the facts of sessions of which one turn is as asked. */
async function readSessions(
  database: Database,
  { service, agent, environment, model, serviceVersion, userId, traceId }: ListFilters,
  keys: readonly SessionKey[],
): Promise<Map<string, SessionFacts>> {
  const ofTurns = { service, agent, environment, model, serviceVersion, userId, traceId };
  const asked = buildConditions(ofTurns, OF_RUNS);
  const ids = [...new Map(keys.map((key) => [joinSessionKey(key), key])).values()];
  const rows = await readSlices(ids, (slice) =>
    database.rows<FactsRow>(
      `SELECT Tenant AS tenant, SessionId AS sessionId, argMin(TraceId, (StartedAt, TraceId)) AS firstTraceId,
         toString(toUnixTimestamp64Milli(min(StartedAt))) AS startedAtMs, toString(toUnixTimestamp64Milli(max(StartedAt))) AS lastTurnMs,
         uniqExact(TraceId) AS turnCount, argMax(UserId, StartedAt) AS userId,
         arraySort(groupUniqArrayIf(20)(Agent, Agent != '')) AS agents,
         arraySort(groupUniqArrayIf(20)(ServiceName, ServiceName != '')) AS services,
         sum(TotalTokens) AS totalTokens,
         if(countIf(isNull(CostUsd) AND notEmpty(Models)) > 0, NULL, sum(CostUsd)) AS costUsd
       ${FROM_TURNS}
       GROUP BY Tenant, SessionId
       HAVING countIf(${asked.sql}) > 0`,
      { ...asked.params, ...sessionParams(slice) },
    ),
  );
  return new Map(
    rows.map((row) => [
      joinSessionKey(row),
      {
        ...row,
        startedAtMs: Number(row.startedAtMs),
        lastTurnMs: Number(row.lastTurnMs),
        turnCount: Number(row.turnCount),
        totalTokens: fromInteger(row.totalTokens),
      },
    ]),
  );
}

/** Returns the parameters of conditions on the ids and the tenants of sessions. */
function sessionParams(keys: readonly SessionKey[]) {
  const sessionIds = keys.map(({ sessionId }) => sessionId);
  return { sessionIds, tenants: [...new Set(keys.map(({ tenant }) => tenant))] };
}

async function readSessionScores(database: Database, keys: readonly SessionKey[]) {
  const rows = await readSlices(keys, (slice) =>
    scoreRows.read(
      database,
      `FROM scores FINAL
       PREWHERE ${WITHOUT_TRACE} AND ${OF_SESSIONS}
       ORDER BY Scorer, ScoreId`,
      sessionParams(slice),
    ),
  );
  return Map.groupBy(rows, joinSessionKey);
}

type WorstRow = SessionKey & { readonly scorer: string; readonly score: number };

/** Reads the worst scores of sessions and their turns; a measure, which every run has, only where nothing else is. A score is never of an earlier day than its session, by the clocks of both. */
async function readWorstOfSessions(
  database: Database,
  keys: readonly SessionFacts[],
): Promise<Map<string, WorstRow>> {
  const rows = await readSlices(keys, (slice) => {
    const firstMs = Math.min(Date.now(), ...slice.map(({ startedAtMs }) => startedAtMs));
    return database.rows<WorstRow>(
      `SELECT Tenant AS tenant, SessionId AS sessionId,
         argMax((toString(Scorer), Score), (NOT startsWith(Scorer, 'behaviour-'), ${DISTANCE}, TraceTimestamp)) AS worst, worst.1 AS scorer, worst.2 AS score
       FROM scores FINAL
       PREWHERE ${OF_SESSIONS} AND Day >= toDate(fromUnixTimestamp64Milli({first:Int64}, 'UTC'))
       WHERE isNotNull(${DISTANCE})
       GROUP BY Tenant, SessionId`,
      { ...sessionParams(slice), first: startOf(firstMs - 2 * DAY_MS) },
    );
  });
  return new Map(
    rows.map(({ tenant, sessionId, scorer, score }) => [
      joinSessionKey({ tenant, sessionId }),
      { tenant, sessionId, scorer, score },
    ]),
  );
}
