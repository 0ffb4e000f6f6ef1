import { z } from '@hono/zod-openapi';
import { ConfigInForce } from './config.ts';
import { NoQuery } from '../lists/fields.ts';
import { Time, BUDGET_FIELDS } from '../json/rows.ts';
import { describeRoute, createRouter, describeJson, tenantStore } from '../router.ts';

export const Status = z
  .looseObject({
    version: z.string(),
    pid: z.number(),
    startedAt: Time,
    roles: z.array(z.string()),
    otlpHttp: z
      .string()
      .nullable()
      .optional()
      .describe('Address for spans over OTLP/HTTP; null without a collector.'),
    otlpGrpc: z.string().nullable().optional(),
    spansPerSecond: z.number().optional().describe('Mean of the last minute.'),
    scoresPerSecond: z.number().optional(),
    components: z
      .array(z.object({ name: z.string(), healthy: z.boolean(), error: z.string().nullable() }))
      .optional(),
    store: z
      .looseObject({
        kind: z.string(),
        version: z.string(),
        bytes: z.number(),
        rows: z.record(z.string(), z.number()).describe('Rows of the main tables.'),
      })
      .optional()
      .describe('Absent for a token of one tenant, as all that is not about its own rows.'),
    scoring: z
      .looseObject({
        waiting: z.number().describe('Traces that still arrive.'),
        queued: z.number(),
        inFlight: z.number(),
        retries: z.number(),
        lagMs: z.number().nullable().describe('Time since arrivals were last read.'),
        oldestWaitMs: z.number().nullable().describe('Age of the oldest trace that waits.'),
        oldestQueuedMs: z.number().nullable(),
      })
      .optional()
      .describe('Present in a process with the role `scorer`.'),
    judges: z
      .array(
        z.looseObject({
          judge: z.string().describe("'' for a scorer without a judge."),
          scorer: z.string(),
          state: z.enum(['ok', 'failing']),
          failingSinceMs: z.number().nullable(),
          kinds: z.record(z.string(), z.number()).describe('Failures by kind.'),
          lastFailure: z.looseObject({ reason: z.string() }).nullable(),
        }),
      )
      .optional(),
    exporters: z
      .array(
        z.object({
          name: z.string(),
          sent: z.number().describe('Scores since the start of this process.'),
          waiting: z.number(),
          deadLetters: z.number(),
          skipped: z.number().describe('Scores that the receiver has no place for, or that are not chosen.'),
          lastError: z.string().nullable().describe('Error of the last attempt; null after a delivery.'),
        }),
      )
      .optional(),
    sources: z
      .array(
        z.object({
          name: z.string(),
          spans: z.number().describe('Stored spans since the start of this process.'),
          lag: z.number().nullable().describe('Seconds since the source was last read to its end.'),
          lastError: z.string().nullable().describe('Error of the last look; null after one without.'),
        }),
      )
      .optional()
      .describe('Sources of spans. Present in a process with the role `collector`.'),
    jobs: z
      .array(
        z.looseObject({ id: z.string(), kind: z.string(), status: z.string(), error: z.string().nullable() }),
      )
      .optional()
      .describe('Jobs that have not ended, the oldest first.'),
    budgets: z.array(z.object({ ...BUDGET_FIELDS, reservedUsd: z.number() })).optional(),
    config: z.looseObject({}).optional().describe('The configuration without its secrets.'),
    configChanges: z
      .looseObject({})
      .optional()
      .describe('The parts of `config` that differ from the defaults.'),
    configuration: ConfigInForce.optional().describe('File and revision that are in force.'),
  })
  .openapi('Status');

const readStatus = describeRoute('get', '/status', {
  tag: 'status',
  summary: 'State of this process and its store.',
  request: { query: NoQuery },
  replies: { 200: describeJson('The state.', Status) },
});

export function createStatusRoutes() {
  return createRouter().openapi(readStatus, async (c) => {
    return c.json((await tenantStore(c.var).status()) as z.infer<typeof Status>, 200);
  });
}
