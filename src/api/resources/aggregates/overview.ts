import { z } from '@hono/zod-openapi';
import { DAY_MS, HOUR_MS } from '../../../domain/durations.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Time, orNull, pick } from '../../json/rows.ts';
import {
  budgetAlertJson,
  incidentJson,
  isoText,
  ScoreBaseline,
  ScoreIncident,
  SumsState,
  alignRange,
  FACET_FIELDS,
  SCORES_FIELDS,
  Rate,
  readChoice,
  readRange,
  ScoreScale,
} from './query.ts';
import { PassRate } from '../labels.ts';

const OVERVIEW_BUCKETS = 24;

const OverviewLine = z
  .object({
    scorer: z.string(),
    ...ScoreScale,
    series: z
      .array(z.object({ bucket: Time, n: z.number(), mean: z.number().nullable() }))
      .describe(`${OVERVIEW_BUCKETS} buckets, the last one is the present.`),
    mean: z.number().nullable().describe('Mean of the latest bucket with scores.'),
    n: z.number().describe('Scores in the buckets.'),
    effectiveN: z.number(),
    eligible: z
      .number()
      .nullable()
      .describe(
        'Pairs of a run that began in this time and a rule that selects it, as in `/coverage/funnel`. Null for days, and where other facets than agents and environments are asked.',
      ),
    scored: z.number().nullable().describe('Eligible pairs that have a score.'),
    baseline: orNull(ScoreBaseline),
    estimate: orNull(PassRate).describe(
      'Pass rate by people of the version that was used last, over 30 days, as in `/labels/estimate`; null without any label.',
    ),
    incident: orNull(ScoreIncident).describe('Latest open incident of the scorer.'),
  })
  .openapi('OverviewLine');

export const OverviewReply = z
  .object({
    items: z.array(OverviewLine),
    next: z.null(),
    bucket: z.enum(['1h', '1d']),
    since: Time,
    until: Time,
    sums: SumsState,
    figures: orNull(
      z
        .object({
          runs: z.number(),
          pass: orNull(Rate).describe(
            'Weighted share of the runs of which every score passes, among those that have a score with labels or a bar.',
          ),
          toolErrors: orNull(Rate).describe('Share of the runs with a failed tool call.'),
          agentUsd: z.number().nullable(),
          unpriced: z.number().describe('Runs without a known cost.'),
          judgeUsd: z.number().nullable(),
        })
        .openapi('Figures'),
    ).describe(
      'Numbers of all runs that began since `since`; null where other facets than agents and environments are asked.',
    ),
    incidents: z.array(ScoreIncident).describe('Open incidents of scores, newest first.'),
    budgets: z
      .array(
        z.object({
          incidentId: z.string(),
          summary: z.string().describe('Sentence on the budget and the money spent.'),
          startsAt: Time.nullable(),
          muted: z.boolean(),
        }),
      )
      .describe('Open alerts about budgets, newest first.'),
  })
  .openapi('Overview');

const readOverview = describeRoute('get', '/overview', {
  tag: 'aggregates',
  summary: 'Live scores of each scorer in the last 24 hours or days.',
  request: {
    query: z.strictObject({
      bucket: z.enum(['1h', '1d']).default('1h').describe('Length of a bucket.'),
      since: SCORES_FIELDS.since.describe(
        'Start of the range of the figures. Default: the start of the first bucket.',
      ),
      until: SCORES_FIELDS.until.describe('End of the range of the figures. Default: now.'),
      ...FACET_FIELDS,
    }),
  },
  replies: { 200: describeJson('One line for each scorer.', OverviewReply) },
});

export function createOverviewRoutes() {
  return createRouter().openapi(readOverview, async (c) => {
    const { aggregates, nowMs } = tenantStore(c.var);
    const { bucket, since: from, until: to, ...query } = c.req.valid('query');
    const bucketMs = bucket === '1h' ? HOUR_MS : DAY_MS;
    const atMs = await nowMs();
    const { toMs } = alignRange({ fromMs: 0, toMs: atMs + 1 }, bucketMs);
    const fromMs = toMs - OVERVIEW_BUCKETS * bucketMs;
    const figuresRange = readRange(
      { since: from, until: to },
      { nowMs: atMs + 1, defaultMs: atMs + 1 - fromMs },
    );
    const { scorers, incidents, budgets, behindSeconds, figures } = await aggregates.overview({
      figuresRange,
      ...readChoice(query),
      source: 'live',
      bucketMs,
      fromMs,
      toMs,
    });
    const starts = Array.from({ length: OVERVIEW_BUCKETS }, (_, index) => fromMs + index * bucketMs);
    const items = scorers.map(
      ({ scorer, points, total, eligible, scored, baseline, estimate, incident, ...scale }) => ({
        scorer,
        ...pick(ScoreScale, scale),
        series: starts.map((startMs) => {
          const point = points.find((each) => each.bucketMs === startMs);
          return { bucket: isoText(startMs), n: point?.n ?? 0, mean: point?.mean ?? null };
        }),
        mean: points.at(-1)?.mean ?? null,
        n: total.n,
        effectiveN: total.effectiveN,
        eligible,
        scored,
        baseline,
        estimate,
        incident: incident === null ? null : incidentJson(incident),
      }),
    );
    const [since, until] = [isoText(fromMs), isoText(toMs)];
    const open = { incidents: incidents.map(incidentJson), budgets: budgets.map(budgetAlertJson) };
    const sums = { behindSeconds };
    const rest = { figures, ...open };
    return c.json({ items, next: null, bucket, since, until, sums, ...rest }, 200);
  });
}
