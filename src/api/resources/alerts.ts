import { createRoute, z } from '@hono/zod-openapi';
import { acknowledgedJson, alertJson, type AlertReplies } from '../json/alert-json.ts';
import { CURSOR_FIELDS, createList, describePage } from '../lists/cursors.ts';
import { FILTER_FIELDS, NoQuery } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, secureRoute, tenantStore } from '../router.ts';
import type { TenantStore } from '../tenant-store.ts';
import { BUDGET_FIELDS } from '../schemas/budget-fields.ts';
import { Series, Time } from './series-schema.ts';

export const Alert = z
  .object({
    id: z.string().describe('Id of this message: the beginning or the end of an incident.'),
    incidentId: z.string().describe('The same for the beginning and the end of an incident.'),
    status: z.enum(['firing', 'resolved']),
    alert: z.string(),
    detector: z.string(),
    series: Series,
    seriesId: z
      .string()
      .nullable()
      .describe('Subject of a mute of this series; null for an alert about a budget.'),
    startsAt: Time.nullable(),
    endsAt: Time.nullable(),
    changeBegan: Time.nullable().describe('Estimated begin of the change.'),
    before: z.number().nullable().describe('Expected mean or rate; null for a detector with a limit.'),
    limit: z.number().nullable().describe('Limit of the rule, for a detector that has one.'),
    after: z.number().nullable().describe('Observed mean or rate since the change began.'),
    count: z.number().describe('Observations since the change began.'),
    lateScores: z
      .number()
      .describe(
        'Scores from the begin of the change to the begin of the incident that came more than an hour after their trace: they are no observations.',
      ),
    evidenceLog10: z.number().nullable(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()),
    worstTraces: z
      .array(z.object({ traceId: z.string(), scoreId: z.string(), score: z.number() }))
      .readonly(),
    segments: z
      .array(
        z.object({
          dimension: z.enum(['model', 'agent_version', 'service_version', 'service', 'agent']),
          value: z.string(),
          count: z.number(),
          mean: z.number(),
          before: z.number().nullable().describe('Mean before the change; null without earlier scores.'),
          isNew: z
            .boolean()
            .describe('True for a part that the earlier traffic did not have, as a new version.'),
          share: z.number().describe('Part of the change within this part, against its own past.'),
          mixShare: z
            .number()
            .describe(
              'Part of the change because parts of this dimension grew or shrank; the same for all its values.',
            ),
        }),
      )
      .readonly(),
    serviceVersion: z.string(),
    agentVersion: z.string(),
    muted: z.boolean(),
    budget: z.object({ ...BUDGET_FIELDS, percent: z.number() }).optional(),
    acknowledgedAt: Time.nullable(),
  })
  .openapi('Alert');

const alertList = createList('alerts');

const listAlerts = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/alerts',
  tags: ['alerts'],
  summary: 'Beginnings and ends of incidents, newest first.',
  request: { query: z.strictObject({ ...CURSOR_FIELDS, since: FILTER_FIELDS.since }) },
  responses: { 200: describeJson('A page of alerts.', describePage(Alert)), ...PROBLEMS },
});

const acknowledge = createRoute({
  ...secureRoute('admin'),
  method: 'post',
  path: '/alerts/{id}/ack',
  tags: ['alerts'],
  summary: 'Accepts the change of an incident as normal: its series gets a new reference.',
  description: 'A write without a body: it needs the header `content-type: application/json` all the same.',
  request: {
    query: NoQuery,
    params: z.strictObject({
      id: z
        .string()
        .min(1)
        .max(1_000)
        .describe('`incidentId` of an open incident, or `id` of the alert about its beginning.'),
    }),
  },
  responses: {
    200: describeJson('The incident.', z.object({ acknowledged: z.string(), alert: z.string() })),
    ...PROBLEMS,
  },
});

/** Creates the routes of alerts. */
export function createAlertRoutes() {
  return createRouter()
    .openapi(listAlerts, async (c) => {
      const store = tenantStore(c.var);
      const replies = await readReplies(store);
      const { filters, page } = alertList.readQuery(c.req.valid('query'), replies.nowMs);
      const found = await store.alerts.list(filters, page);
      return c.json(
        alertList.toReply(found, (event) => alertJson(event, replies)),
        200,
      );
    })
    .openapi(acknowledge, async (c) => {
      const { id } = c.req.valid('param');
      const subjects = [{ kind: 'incident', id }] as const;
      const { alerts } = await tenantStore(c.var).openWrites({ action: 'alert.acknowledge', subjects });
      return c.json(acknowledgedJson(await alerts.acknowledge(id)), 200);
    });
}

/** Reads mutes and acknowledgements, for the alerts of a reply. */
export async function readReplies({ alerts, nowMs }: TenantStore): Promise<AlertReplies> {
  const [mutes, acknowledged, now] = await Promise.all([alerts.mutes(), alerts.acknowledged(), nowMs()]);
  return { mutes, acknowledged, nowMs: now };
}
