import { createRoute, z } from '@hono/zod-openapi';
import { jobJson } from '../json/job-json.ts';
import { NoQuery } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { Time } from './series-schema.ts';

const Job = z
  .looseObject({
    id: z.string(),
    kind: z.string(),
    tenant: z.string(),
    status: z.enum(['queued', 'running', 'paused', 'done', 'failed', 'cancelled']),
    spec: z.record(z.string(), z.unknown()),
    createdAt: Time.nullable(),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    costUsd: z.number(),
    owner: z.string().describe("Process that ran it last; '' before the first."),
    error: z.string().nullable(),
    left: z.string().nullable().describe('Reason why a process left the job to others.'),
  })
  .openapi('Job');

const readJob = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/jobs/{id}',
  tags: ['jobs'],
  summary: 'How far a job is. Its report stands beside the other fields.',
  request: { query: NoQuery, params: z.strictObject({ id: z.string() }) },
  responses: { 200: describeJson('The job.', Job), ...PROBLEMS },
});

/** Creates the route of jobs. */
export function createJobRoutes() {
  return createRouter().openapi(readJob, async (c) => {
    const job = await tenantStore(c.var).findJob(c.req.valid('param').id);
    return c.json(jobJson(job) as z.infer<typeof Job>, 200);
  });
}
