import { createRoute, z } from '@hono/zod-openapi';
import { CURSOR_FIELDS, createList, describePage } from '../lists/cursors.ts';
import { TenantQuery } from '../schemas/target-fields.ts';
import { FILTER_FIELDS } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { SessionDetail, SessionItem } from '../schemas/session-schema.ts';
import type { ListedSession } from '../../store/contracts/lists.ts';
import { decisionJson } from '../json/decision-json.ts';
import type { SessionView } from '../reads/sessions.ts';
import { scoreJson } from '../json/score-json.ts';
import { isoTime } from '../json/time-json.ts';
import { traceJson } from '../json/trace-json.ts';

const { since, until, service, agent, environment, model, serviceVersion } = FILTER_FIELDS;

const sessionList = createList('sessions');

const listSessions = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/sessions',
  tags: ['sessions'],
  summary: 'Sessions, newest first by the start of their first turn.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      since,
      until,
      service,
      agent,
      environment,
      model,
      serviceVersion,
      sessionId: FILTER_FIELDS.sessionId,
      userId: FILTER_FIELDS.userId,
    }),
  },
  responses: { 200: describeJson('A page of sessions.', describePage(SessionItem)), ...PROBLEMS },
});

const readSession = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/sessions/{sessionId}',
  tags: ['sessions'],
  summary: 'One session: its turns in order, with their scores.',
  request: { query: TenantQuery, params: z.strictObject({ sessionId: z.string().min(1).max(10_000) }) },
  responses: { 200: describeJson('The session.', SessionDetail), ...PROBLEMS },
});

/** Creates the routes of sessions. */
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
  const {
    tenant,
    sessionId,
    startedAtMs,
    lastTurnMs,
    turnCount,
    userId,
    agents,
    services,
    totalTokens,
    costUsd,
  } = session;
  return {
    tenant,
    sessionId,
    startedAt: isoTime(startedAtMs),
    lastTurnAt: isoTime(lastTurnMs),
    turnCount,
    userId: userId || null,
    agents,
    services,
    totalTokens,
    costUsd,
    scores: session.scores.map(scoreJson),
  };
}

/** Formats a session with its turns and decisions as JSON. */
function sessionViewJson({ session, turns, omittedTurns, decisions, nowMs }: SessionView) {
  return {
    ...sessionJson(session),
    decisions: decisions.map((decision) => decisionJson(decision, nowMs)),
    turns: turns.map(traceJson),
    omittedTurns,
  };
}
