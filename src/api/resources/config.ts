import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ConfigControl, ReloadAnswer } from '../../config/config-control.ts';
import { ForbiddenError, NotFoundError } from '../../domain/errors.ts';
import { orNull, Time } from '../json/rows.ts';
import { NoQuery } from '../lists/fields.ts';
import {
  answerProblem,
  type ApiEnv,
  createRouter,
  describeBody,
  describeJson,
  describeRoute,
  ProblemSchema,
  tenantStore,
} from '../router.ts';
import type { AuditAction, AuditSubject } from '../writes/audit.ts';

const RELOAD_FIELDS = {
  outcome: z.enum(['applied', 'unchanged', 'refused']),
  revision: z.int().describe('Revision in force after it.'),
  at: Time,
  changed: z.array(z.string()).readonly().describe('Paths that are in force: `rules.production`.'),
  issues: z
    .array(
      z.object({
        file: z.string().nullable(),
        line: z.int().nullable(),
        column: z.int().nullable(),
        source: z.enum(['default', 'file', 'environment', 'flag']),
        path: z.string(),
        message: z.string(),
      }),
    )
    .readonly()
    .describe('Faults of the file, as `spanscore check-config --json` lists them.'),
  needsRestart: z.array(z.string()).readonly().describe('Changed paths that need a restart.'),
};

const Reload = z.object(RELOAD_FIELDS).openapi('Reload');

const Refused = ProblemSchema.extend(RELOAD_FIELDS).openapi('RefusedReload');

export const ConfigInForce = z.object({
  file: z.string().nullable(),
  revision: z.int().describe('Count of the revisions since the start, from 1.'),
  loadedAt: Time,
  lastReload: orNull(Reload),
});

export const Changes = z
  .strictObject({
    changes: z
      .array(
        z.strictObject({
          path: z
            .string()
            .min(1)
            .max(1_000)
            .describe('Path of the key, with the names of entries in lists: `rules.production.sample.rate`.'),
          value: z
            .union([
              z.string(),
              z.number(),
              z.boolean(),
              z.null(),
              z.array(z.unknown()),
              z.record(z.string(), z.unknown()),
            ])
            .describe('New value; null removes the key.'),
        }),
      )
      .min(1)
      .max(100),
    dryRun: z.boolean().default(false).describe('true: the file stays as it is.'),
  })
  .openapi('ConfigChanges');

export const Applied = z
  .object({
    diff: z.string().describe('Unified diff of the file.'),
    applied: z.boolean().describe('true: the file is written and in force.'),
    reason: z.string().nullable().describe('Reason why the file was not written. Null: it was, or dryRun.'),
    file: z.string(),
    backup: z.string().nullable().describe('Path of the former version.'),
    reload: orNull(Reload),
  })
  .openapi('AppliedChanges');

const describeRefused = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: Refused } },
});

const REFUSALS = {
  409: describeRefused('A change needs a restart. Nothing has changed.'),
  422: describeRefused('The configuration has a fault. Nothing has changed.'),
};

const reload = describeRoute('post', '/config/reload', {
  tag: 'configuration',
  summary: 'Reads the configuration again and puts it in force, for a token without a tenant.',
  request: { query: NoQuery },
  replies: { 200: describeJson('It is in force, or equal.', Reload), ...REFUSALS },
});

const apply = describeRoute('post', '/config/apply', {
  tag: 'configuration',
  summary: 'Changes the configuration file and reloads it, for a token without a tenant.',
  request: { query: NoQuery, body: describeBody(Changes) },
  replies: {
    200: describeJson('The change is in force, or is shown as a diff.', Applied),
    ...REFUSALS,
  },
});

export function createConfigRoutes() {
  return createRouter()
    .openapi(reload, async (c) => {
      const control = await openControl(c, 'config.reload');
      const answer = await control.reload();
      return answer.outcome === 'refused' ? (answerRefused(c, answer) as never) : c.json(answer, 200);
    })
    .openapi(apply, async (c) => {
      const { changes, dryRun: isDryRun } = c.req.valid('json');
      const subjects = changes.map(({ path }) => ({ kind: 'config', id: path }) as const);
      const control = await openControl(c, 'config.apply', ...subjects);
      const answer = await control.apply(changes, { isDryRun });
      return answer.reload?.outcome === 'refused'
        ? (answerRefused(c, answer.reload) as never)
        : c.json(answer, 200);
    });
}

/** Returns the control of the configuration to a caller who sees all tenants. */
async function openControl(
  c: Context<ApiEnv>,
  action: AuditAction,
  ...subjects: AuditSubject[]
): Promise<ConfigControl> {
  if (c.var.caller.tenant !== undefined) {
    throw new ForbiddenError('the configuration is of all tenants: use a token without a tenant');
  }
  const { control, openWrites } = tenantStore(c.var);
  await openWrites(action, ...subjects);
  if (control === undefined) {
    throw new NotFoundError(
      'this process has no configuration that can be loaded again: start it with spanscore serve',
    );
  }
  c.set('afterLimit', () => 'the reload goes on, and GET /api/v1/status says how it ends');
  return control;
}

function answerRefused(c: Context<ApiEnv>, answer: ReloadAnswer): Response {
  const { issues, needsRestart } = answer;
  const hasFault = issues.length > 0;
  const problem = {
    status: hasFault ? 422 : 409,
    title: hasFault ? 'Faulty configuration' : 'Needs a restart',
    detail: hasFault
      ? issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
      : `a restart puts in force: ${needsRestart.join(', ')}`,
  };
  return answerProblem(c, { ...problem, ...answer });
}
