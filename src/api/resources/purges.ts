import { z } from '@hono/zod-openapi';
import { NoQuery, TenantQuery } from '../lists/fields.ts';
import { describeRoute, describeProblem, createRouter, describeJson, tenantStore } from '../router.ts';

const id = z.string().min(1).max(10_000);

const Purge = z
  .object({
    id: z.string().describe('Id of the job: `GET /jobs/{id}` says how far it is.'),
    remains: z.string().nullable().describe('Data that stays all the same; null for none.'),
  })
  .openapi('Purge');

/** Things that can be purged, each under the path of its kind. */
const PURGES = [
  { kind: 'trace', path: '/traces/{traceId}', param: 'traceId', what: 'a trace from every table' },
  { kind: 'session', path: '/sessions/{sessionId}', param: 'sessionId', what: 'all traces of a session' },
  { kind: 'user', path: '/users/{userId}', param: 'userId', what: 'all traces of a user' },
  { kind: 'tenant', path: '/tenants/{tenant}', param: 'tenant', what: 'all data of a tenant' },
] as const;

export function createPurgeRoutes() {
  const router = createRouter();
  for (const { kind, path, param, what } of PURGES) {
    const route = describeRoute('delete', path, {
      tag: 'purges',
      summary: `Deletes ${what}, for ever.`,
      request: {
        params: z.strictObject({ [param]: id }),
        query: kind === 'tenant' ? NoQuery : TenantQuery,
      },
      replies: {
        202: describeJson('The purge has begun, or had begun before.', Purge),
        409: describeProblem('The processes on this store have no common key of purges: set store.purgeKey.'),
      },
    });
    router.openapi(route, async (c) => {
      const named = c.req.valid('param')[param] ?? '';
      const subject = { kind, id: kind === 'trace' ? named.toLowerCase() : named };
      const writes = await tenantStore(c.var).openWrites(`${kind}.purge`, subject);
      return c.json(await writes.purges.start({ ...subject, ...c.req.valid('query') }), 202);
    });
  }
  return router;
}
