import { createRoute, z } from '@hono/zod-openapi';
import { sessionJson, sessionViewJson } from '../json/session-json.ts';
import { CURSOR_FIELDS, createList, describePage } from '../lists/cursors.ts';
import { TenantQuery } from '../schemas/target-fields.ts';
import { FILTER_FIELDS } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { SessionDetail, SessionItem } from '../schemas/session-schema.ts';

const { since, until, service, agent, environment, model, serviceVersion, sessionId, userId } = FILTER_FIELDS;

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
      sessionId,
      userId,
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
