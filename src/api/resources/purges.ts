import { createRoute, z } from '@hono/zod-openapi';
import { NoQuery } from '../lists/filters.ts';
import { describeProblem } from '../problem.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { TenantQuery } from '../schemas/target-fields.ts';

const id = z.string().min(1).max(10_000);

const Purge = z
  .object({
    id: z.string().describe('Id of the job: `GET /jobs/{id}` says how far it is.'),
    remains: z.string().nullable().describe('Data that stays all the same; null for none.'),
  })
  .openapi('Purge');

const RESPONSES = {
  202: describeJson('The purge has begun, or had begun before.', Purge),
  ...PROBLEMS,
  409: describeProblem('The processes on this store have no common key of purges: set store.purgeKey.'),
};

const purgeTrace = createRoute({
  ...secureRoute('admin'),
  method: 'delete',
  path: '/traces/{traceId}',
  tags: ['purges'],
  summary: 'Deletes a trace from every table, for ever.',
  request: { params: z.strictObject({ traceId: id }), query: TenantQuery },
  responses: RESPONSES,
});

const purgeSession = createRoute({
  ...secureRoute('admin'),
  method: 'delete',
  path: '/sessions/{sessionId}',
  tags: ['purges'],
  summary: 'Deletes all traces of a session, for ever.',
  request: { params: z.strictObject({ sessionId: id }), query: TenantQuery },
  responses: RESPONSES,
});

const purgeUser = createRoute({
  ...secureRoute('admin'),
  method: 'delete',
  path: '/users/{userId}',
  tags: ['purges'],
  summary: 'Deletes all traces of a user, for ever.',
  request: { params: z.strictObject({ userId: id }), query: TenantQuery },
  responses: RESPONSES,
});

const purgeTenant = createRoute({
  ...secureRoute('admin'),
  method: 'delete',
  path: '/tenants/{tenant}',
  tags: ['purges'],
  summary: 'Deletes all data of a tenant, for ever.',
  request: { query: NoQuery, params: z.strictObject({ tenant: id }) },
  responses: RESPONSES,
});

/** Creates the routes of erasure. */
export function createPurgeRoutes() {
  return createRouter()
    .openapi(purgeTrace, async (c) => {
      const { traceId } = c.req.valid('param');
      const subject = { kind: 'trace', id: traceId.toLowerCase() } as const;
      const writes = await tenantStore(c.var).openWrites({ action: 'trace.purge', subjects: [subject] });
      return c.json(await writes.purges.start({ ...subject, ...c.req.valid('query') }), 202);
    })
    .openapi(purgeSession, async (c) => {
      const subject = { kind: 'session', id: c.req.valid('param').sessionId } as const;
      const writes = await tenantStore(c.var).openWrites({ action: 'session.purge', subjects: [subject] });
      return c.json(await writes.purges.start({ ...subject, ...c.req.valid('query') }), 202);
    })
    .openapi(purgeUser, async (c) => {
      const subject = { kind: 'user', id: c.req.valid('param').userId } as const;
      const writes = await tenantStore(c.var).openWrites({ action: 'user.purge', subjects: [subject] });
      return c.json(await writes.purges.start({ ...subject, ...c.req.valid('query') }), 202);
    })
    .openapi(purgeTenant, async (c) => {
      const subject = { kind: 'tenant', id: c.req.valid('param').tenant } as const;
      const writes = await tenantStore(c.var).openWrites({ action: 'tenant.purge', subjects: [subject] });
      return c.json(await writes.purges.start(subject), 202);
    });
}
