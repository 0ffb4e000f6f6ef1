import { z } from '@hono/zod-openapi';
import { Time, DecisionItem, ScoreItem, decisionJson, scoreJson, isoTime, pick } from '../json/rows.ts';
import { TraceItem, traceJson } from './traces.ts';
import { createList, describePage, CURSOR_FIELDS } from '../lists/cursors.ts';
import { TenantQuery, FILTER_FIELDS } from '../lists/fields.ts';
import { describeRoute, createRouter, describeJson, tenantStore } from '../router.ts';
import type { ListedSession } from '../../store/contracts/lists.ts';
import type { SessionView } from '../reads/traces.ts';

const SessionColumns = {
  tenant: z.string(),
  sessionId: z.string(),
  startedAt: Time.nullable().describe('Start of the first turn.'),
  lastTurnAt: Time.nullable().describe('Start of the last turn.'),
  turnCount: z.number(),
  userId: z.string().nullable(),
  agents: z.array(z.string()).readonly(),
  services: z.array(z.string()).readonly(),
  totalTokens: z.number().nullable(),
  costUsd: z.number().nullable().describe('Null when the cost of a turn is not known.'),
  worst: z
    .object({ scorer: z.string(), score: z.number() })
    .nullable()
    .describe('Worst score of the session or of one of its turns.'),
  scores: z.array(ScoreItem).readonly().describe('Scores of the whole session.'),
};

export const SessionItem = z.object(SessionColumns).openapi('Session');

export const SessionDetail = z
  .object({
    ...SessionColumns,
    decisions: z.array(DecisionItem).readonly().describe('Decisions on the whole session.'),
    turns: z.array(TraceItem).readonly().describe('Turns with their scores, the oldest first.'),
    omittedTurns: z.number().describe('Oldest turns beyond the limit of 500.'),
  })
  .openapi('SessionDetail');

const sessionList = createList('sessions');

const listSessions = describeRoute('get', '/sessions', {
  tag: 'sessions',
  summary: 'Sessions, newest first by the start of their first turn.',
  description:
    'A filter of runs holds for one of the turns. A filter of scores or decisions holds for the session, or for one of its turns.',
  request: { query: z.strictObject({ ...CURSOR_FIELDS, ...FILTER_FIELDS }) },
  replies: { 200: describeJson('A page of sessions.', describePage(SessionItem)) },
});

const readSession = describeRoute('get', '/sessions/{sessionId}', {
  tag: 'sessions',
  summary: 'One session: its turns in order, with their scores.',
  request: { query: TenantQuery, params: z.strictObject({ sessionId: z.string().min(1).max(10_000) }) },
  replies: { 200: describeJson('The session.', SessionDetail) },
});

export function createSessionRoutes() {
  return createRouter()
    .openapi(listSessions, async (c) => {
      const { sessions, nowMs } = tenantStore(c.var);
      const { filters, page } = sessionList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(sessionList.toReply(await sessions.list(filters, page), sessionJson), 200);
    })
    .openapi(readSession, async (c) => {
      const { sessions } = tenantStore(c.var);
      const asked = { ...c.req.valid('param'), ...c.req.valid('query') };
      return c.json(sessionViewJson(await sessions.read(asked)), 200);
    });
}

/** Formats a session of a list as JSON; times in ISO 8601. */
function sessionJson(session: ListedSession) {
  const { startedAtMs, lastTurnMs, userId, worst, scores } = session;
  return {
    ...pick(SessionColumns, session),
    startedAt: isoTime(startedAtMs),
    lastTurnAt: isoTime(lastTurnMs),
    userId: userId || null,
    worst: worst && { scorer: worst.scorer, score: worst.score },
    scores: scores.map(scoreJson),
  };
}

function sessionViewJson({ session, turns, omittedTurns, decisions, nowMs }: SessionView) {
  return {
    ...sessionJson(session),
    decisions: decisions.map((decision) => decisionJson(decision, nowMs)),
    turns: turns.map(traceJson),
    omittedTurns,
  };
}
