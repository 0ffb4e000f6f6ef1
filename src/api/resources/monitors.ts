import { createRoute, z } from '@hono/zod-openapi';
import type { MonitorStanding } from '../../monitors/monitor-status.ts';
import { CURSOR_FIELDS, createList, describePage, refuseCursor } from '../lists/cursors.ts';
import { FILTER_FIELDS } from '../lists/filters.ts';
import { monitorJson } from '../json/monitor-json.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { readReplies } from './alerts.ts';
import { Series, Time } from './series-schema.ts';
import { orNull } from '../schemas/or-null.ts';

const Finding = z
  .object({
    changeBegan: Time.nullable(),
    before: z.number().nullable().describe('Expected mean or rate since then.'),
    after: z.number().nullable().describe('Observed mean or rate since then.'),
    count: z.number().describe('Observations since then.'),
    evidenceLog10: z.number().nullable(),
    cut: z.number().optional().describe('`before` and `after` are shares of scores at or below this score.'),
  })
  .openapi('Finding');

export const Monitor = z
  .object({
    ruleKey: z.string(),
    group: z.string(),
    alert: z.string(),
    detector: z.string(),
    series: Series,
    seriesId: z.string().describe('Subject of a mute of this series.'),
    phase: z.enum(['learning', 'ok', 'pending', 'firing', 'recovering', 'no_data', 'scorer_error', 'paused']),
    since: Time.nullable().describe('Begin of the phase.'),
    incidentId: z.string().nullable(),
    finding: orNull(Finding),
    lacks: z.string().nullable().describe('Missing part of the reference.'),
    mean: z.number().nullable().describe('Directed mean of the latest bucket.'),
    baseline: z.number().nullable().describe('Mean that earlier scores let expect, directed.'),
    limit: z.number().nullable().describe('Limit of the rule, for a detector that has one.'),
    evidenceLog10: z.number().nullable(),
    scores: z.number(),
    bucket: Time.nullable().describe('Start of the latest bucket.'),
    lateScores: z
      .number()
      .describe(
        'Scores of the series in 24 hours that came more than an hour after their trace: monitors do not count them. Of a split series, those of all its parts.',
      ),
    lastLateBucket: Time.nullable().describe('Start of the latest bucket with such a score.'),
    muted: z.boolean(),
  })
  .openapi('Monitor');

const monitorList = createList('monitors');

const listMonitors = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/monitors',
  tags: ['monitors'],
  summary: 'States of the configured monitors, in the order of their alerts and series.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      since: FILTER_FIELDS.since.describe('Earliest begin of the phase: `24h`, or a date and time.'),
      order: z
        .enum(['alert', 'firing'])
        .default('alert')
        .describe('`firing`: the states that fire first; at most 500, without a cursor.'),
    }),
  },
  responses: { 200: describeJson('A page of states.', describePage(Monitor)), ...PROBLEMS },
});

/** Creates the routes of monitors. */
export function createMonitorRoutes() {
  return createRouter().openapi(listMonitors, async (c) => {
    const store = tenantStore(c.var);
    const replies = await readReplies(store);
    const { order, ...query } = c.req.valid('query');
    const { filters, page } = monitorList.readQuery(query, replies.nowMs);
    const toJson = (status: MonitorStanding) => monitorJson(status, replies);
    if (order === 'firing') {
      refuseCursor(order, query);
      const items = await store.standings.listFiring(filters, page.limit);
      return c.json({ items: items.map(toJson), next: null }, 200);
    }
    return c.json(monitorList.toReply(await store.standings.list(filters, page), toJson), 200);
  });
}
