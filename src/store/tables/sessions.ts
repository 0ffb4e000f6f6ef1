import { TupleParam } from '@clickhouse/client';
import { WHOLE_RULE } from '../../domain/decision.ts';
import { HASHED_SESSION, MAX_SESSION_ID_BYTES } from '../../domain/session-target.ts';
import {
  type EndedSession,
  type EndedSessionsQuery,
  joinSessionKey,
  type ListedTurns,
  type SessionActivity,
  type SessionKey,
  type SessionResultsQuery,
  type SessionTurn,
  type UndecidedSession,
  type UndecidedSessionsQuery,
} from '../contracts/lists.ts';
import { SHARDS } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { pairParams, readSlices, WITHOUT_TRACE } from '../spans/trace-keys.ts';
import { decisionRows, scoreRows } from '../table-rows.ts';

/** Time by which the evidence of a session may be older than the read of its last turn, milliseconds: spans that waited for a read. */
const READ_LATE_MS = 7 * 24 * 3_600_000;

/** Creates the store of sessions. A session is the turns in `runs` that name it. */
export function createSessionStore(database: Database) {
  return {
    ...bind(database, {
      undecided: readUndecidedSessions,
      activity: readActivity,
      changed: readChanged,
      list: listEnded,
      find: findSessions,
      turnsOf: readTurns,
    }),
    /** Lists the newest turns, at most `limit`, and counts all. */
    turns: async (key: SessionKey, limit: number) => (await readTurns(database, [key], limit))[0] ?? NO_TURNS,
    /** Reads the current decisions of the sessions with these target ids. */
    decisions: (tenant: string, targetIds: readonly string[]) =>
      readSlices(targetIds, (targets) =>
        decisionRows.read(
          database,
          `FROM decisions FINAL
           WHERE Tenant = {tenant:String} AND TraceId = '' AND Target = 'session' AND TargetId IN {targets:Array(String)}
           ORDER BY TargetId, Rule, Scorer`,
          { tenant, targets },
        ),
      ),
    /** Lists the times since when a session was scored or failed, in order, one for each state of its turns. */
    resultTimes: async ({ tenant, targetId, rules, sinceMs }: SessionResultsQuery) => {
      const rows = await database.rows<{ at: number }>(
        `SELECT toUnixTimestamp64Milli(min(WrittenAt)) AS at FROM decision_arrivals
         WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND TraceId = ''
           AND Tenant = {tenant:String} AND Target = 'session' AND TargetId = {targetId:String}
           AND Rule IN {rules:Array(String)} AND Status IN ('scored', 'failed')
         GROUP BY EvidenceUntil ORDER BY at`,
        { since: Math.trunc(sinceMs), tenant, targetId, rules: [...rules] },
      );
      return rows.map(({ at }) => at);
    },
    scores: ({ tenant, sessionId }: SessionKey) =>
      scoreRows.read(
        database,
        `FROM scores FINAL
         PREWHERE ${WITHOUT_TRACE} AND Tenant = {tenant:String} AND SessionId = {sessionId:String}
         ORDER BY Scorer, ScoreId`,
        { tenant, sessionId },
      ),
    /** Finds the session ids of targets whose id is a hash. */
    findIds: async (targets: readonly { readonly tenant: string; readonly targetId: string }[]) =>
      targets.length === 0
        ? []
        : database.rows<SessionKey>(
            `SELECT DISTINCT Tenant AS tenant, SessionId AS sessionId FROM runs FINAL
             WHERE TraceId = '' AND Target = 'session' AND (Tenant, TargetId) IN {targets:Array(Tuple(String, String))}`,
            { targets: targets.map(({ tenant, targetId }) => new TupleParam([tenant, targetId])) },
          ),
  };
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** SQL for the target id of a session (`buildSessionTargetId`). */
export const TARGET_ID = `if(length(SessionId) > ${MAX_SESSION_ID_BYTES},
  concat('${HASHED_SESSION}', lower(hex(SHA256(SessionId)))), SessionId)`;

/** Condition on the shards of sessions: `computeShard` of the target id in the place of the trace id. */
const SESSION_IN_SHARDS = `reinterpretAsUInt32(reverse(substring(SHA256(concat(session.tenant, ' ', session.targetId)), 1, 4))) % ${SHARDS}
  IN {shards:Array(UInt16)}`;

/** Columns of a `SessionActivity`, for `FROM runs … GROUP BY Tenant, SessionId`. */
const ACTIVITY = `
  Tenant AS tenant, SessionId AS sessionId,
  toUnixTimestamp64Milli(min(EvidenceUntil)) AS firstArrivalMs, toUnixTimestamp64Milli(max(EvidenceUntil)) AS lastArrivalMs`;

/** The same columns and the target id. */
export const SESSION_ACTIVITY = `${ACTIVITY}, ${TARGET_ID} AS targetId`;

/** Condition on the rows of `runs` that are turns of a session. */
export const IS_TURN = `Target = 'trace' AND SessionId != '' AND IsDeleted = 0`;

const RECENT = `SELECT Tenant, SessionId FROM runs
  WHERE ${IS_TURN} AND WrittenAt >= fromUnixTimestamp64Milli({since:Int64})`;

/** SQL for whether a decision of a session is one of a rule and its scorer, in a lambda over the rows of the session. */
const OF_PAIR = `row.1 = rule AND (row.2 = scorer OR row.2 = '${WHOLE_RULE}') AND row.3 >= session.lastArrivalMs`;

/** Time within which a row that was written becomes visible, milliseconds. */
const VISIBLE_MS = 45_000;

/**
 * Finds sessions that have, for a pair that covers their last arrival, no row as new as it. The one idle for longest comes first.
 * Earlier versions of a row only add candidates, so the query needs no FINAL over all runs. A turn may be read after the session was
 * decided although its evidence is older: while its trace waits for a judge. The time of its row in `runs` shows it.
 */
function readUndecidedSessions(
  database: Database,
  { sinceMs, pairs, shards, limit }: UndecidedSessionsQuery,
): Promise<UndecidedSession[]> {
  if (pairs.length === 0) {
    return Promise.resolve([]);
  }
  return database.rows(
    `SELECT session.* EXCEPT (targetId),
       toBool(NOT arrayExists((rule, scorer, since, until) -> since <= session.lastArrivalMs AND session.lastArrivalMs < until
         AND NOT arrayExists(row -> ${OF_PAIR}, decided.rows),
         {pairRules:Array(String)}, {pairScorers:Array(String)}, {pairsSince:Array(Int64)}, {pairsUntil:Array(Int64)})) AS isLate
     FROM (
       SELECT ${SESSION_ACTIVITY}, toUnixTimestamp64Milli(max(WrittenAt)) AS lastWrittenMs, uniqExact(TraceId) AS turns FROM runs
       WHERE ${IS_TURN} AND (Tenant, SessionId) IN (${RECENT})
       GROUP BY Tenant, SessionId) AS session
     LEFT JOIN (
       SELECT Tenant AS tenant, TargetId AS targetId,
         groupArray((Rule, Scorer, toUnixTimestamp64Milli(EvidenceUntil), toUnixTimestamp64Milli(WrittenAt))) AS rows
       FROM decisions FINAL
       WHERE TraceId = '' AND Target = 'session' AND EvidenceUntil >= fromUnixTimestamp64Milli({evidenceSince:Int64})
         AND NOT (Scorer = '${WHOLE_RULE}' AND Status = 'scored')
       GROUP BY Tenant, TargetId) AS decided
       ON session.tenant = decided.tenant AND session.targetId = decided.targetId
     WHERE ${shards === null ? '1' : SESSION_IN_SHARDS}
       AND arrayExists((rule, scorer, since, until) ->
         since <= session.lastArrivalMs AND session.lastArrivalMs < until
         AND NOT arrayExists(row -> ${OF_PAIR} AND row.4 > session.lastWrittenMs + ${VISIBLE_MS}, decided.rows),
       {pairRules:Array(String)}, {pairScorers:Array(String)}, {pairsSince:Array(Int64)}, {pairsUntil:Array(Int64)})
     ORDER BY isLate, session.lastArrivalMs, session.tenant, session.sessionId
     LIMIT {limit:UInt32}`,
    {
      since: Math.max(0, Math.trunc(sinceMs)),
      evidenceSince: Math.max(0, Math.trunc(sinceMs - READ_LATE_MS)),
      ...pairParams(pairs),
      limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
}

/** Reads the arrivals of a session; undefined for one without a turn. */
async function readActivity(database: Database, key: SessionKey): Promise<SessionActivity | undefined> {
  const [row] = await database.rows<SessionActivity>(
    `SELECT ${ACTIVITY} FROM runs
     WHERE ${IS_TURN} AND Tenant = {tenant:String} AND SessionId = {sessionId:String}
     GROUP BY Tenant, SessionId`,
    { ...key },
  );
  return row;
}

/** Finds those of these sessions with a turn that was read at or after a time, Unix milliseconds. */
function readChanged(
  database: Database,
  keys: readonly SessionKey[],
  sinceMs: number,
): Promise<SessionKey[]> {
  return readSlices(keys, (slice) =>
    database.rows<SessionKey>(
      `SELECT DISTINCT Tenant AS tenant, SessionId AS sessionId FROM (${RECENT})
       WHERE (Tenant, SessionId) IN {keys:Array(Tuple(String, String))}`,
      { since: Math.max(0, Math.trunc(sinceMs)), keys: slice.map(toTuple) },
    ),
  );
}

function toTuple({ tenant, sessionId }: SessionKey): TupleParam {
  return new TupleParam([tenant, sessionId]);
}

/** Lists sessions by their last turn, in the order of its start. The inner query finds candidates by the index on the start; a later turn then takes a session out of the range. */
function listEnded(
  database: Database,
  { tenant, fromMs, toMs, after, limit }: EndedSessionsQuery,
): Promise<EndedSession[]> {
  return database.rows(
    `SELECT * FROM (
       SELECT ${ACTIVITY}, toUnixTimestamp64Milli(max(StartedAt)) AS lastTurnMs FROM runs
       WHERE ${IS_TURN} AND (Tenant, SessionId) IN (
         SELECT Tenant, SessionId FROM runs
         WHERE ${IS_TURN} AND StartedAt >= fromUnixTimestamp64Milli({from:Int64})
           AND StartedAt < fromUnixTimestamp64Milli({to:Int64})
           ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'})
       GROUP BY Tenant, SessionId)
     WHERE lastTurnMs >= {from:Int64} AND lastTurnMs < {to:Int64}
       ${after === undefined ? '' : 'AND (lastTurnMs, tenant, sessionId) > ({lastTurn:Int64}, {afterTenant:String}, {afterId:String})'}
     ORDER BY lastTurnMs, tenant, sessionId
     LIMIT {limit:UInt32}`,
    {
      from: Math.max(0, Math.trunc(fromMs)),
      to: Math.trunc(toMs),
      limit,
      tenant: tenant ?? '',
      lastTurn: after?.lastTurnMs ?? 0,
      afterTenant: after?.tenant ?? '',
      afterId: after?.sessionId ?? '',
    },
  );
}

/** Finds the sessions of this id, of any tenant. */
function findSessions(database: Database, sessionId: string): Promise<SessionActivity[]> {
  return database.rows(
    `SELECT ${ACTIVITY} FROM runs WHERE ${IS_TURN} AND SessionId = {sessionId:String}
     GROUP BY Tenant, SessionId ORDER BY Tenant`,
    { sessionId },
  );
}

const NO_TURNS: ListedTurns = { turns: [], count: 0 };

/** Turn with the number of all turns of its session. */
type TurnRow = SessionKey & SessionTurn & { readonly total: number };

/** Lists the newest turns of sessions, in their order. */
async function readTurns(
  database: Database,
  keys: readonly SessionKey[],
  limit: number,
): Promise<ListedTurns[]> {
  const rows = await readSlices(keys, (slice) =>
    database.rows<TurnRow>(
      `SELECT Tenant AS tenant, SessionId AS sessionId, TraceId AS traceId,
         toUnixTimestamp64Milli(max(StartedAt)) AS startedAtMs, count() OVER (PARTITION BY tenant, sessionId) AS total
       FROM runs
       WHERE ${IS_TURN} AND (Tenant, SessionId) IN {keys:Array(Tuple(String, String))}
       GROUP BY Tenant, SessionId, TraceId
       ORDER BY startedAtMs DESC, traceId DESC
       LIMIT {limit:UInt32} BY tenant, sessionId`,
      { keys: slice.map(toTuple), limit },
    ),
  );
  const bySession = Map.groupBy(rows, joinSessionKey);
  return keys.map((key) => {
    const found = bySession.get(joinSessionKey(key)) ?? [];
    return {
      turns: found.map(({ tenant, traceId, startedAtMs }) => ({ tenant, traceId, startedAtMs })),
      count: found[0]?.total ?? 0,
    };
  });
}
