import { z } from '@hono/zod-openapi';
import { DECISION_STATUSES } from '../../../domain/decision.ts';
import { DAY_MS } from '../../../domain/durations.ts';
import { buildFunnel, COVERAGE_GROUPS, coverageLines, FUNNEL_STEPS } from '../../reads/coverage.ts';
import { describePage } from '../../lists/cursors.ts';
import { FILTER_FIELDS } from '../../lists/fields.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Time } from '../../json/rows.ts';
import { readRange, SCORES_FIELDS } from './query.ts';

const count = z.number();

export const Coverage = z
  .object({
    scorer: z.string().optional(),
    rule: z.string().optional(),
    reason: z.string().nullable().optional().describe('Code of the reason; null for scores without a note.'),
    status: z.enum(DECISION_STATUSES).optional().describe('Status that the reason belongs to.'),
    service: z.string().nullable().optional().describe('Null for runs whose service is not known.'),
    eligible: count.describe('sampled + sampledOut'),
    sampled: count.describe('scored + notApplicable + deferred + failed'),
    scored: count,
    notApplicable: count,
    deferred: count,
    failed: count,
    sampledOut: count,
    filtered: count,
    waiting: count
      .optional()
      .describe(
        'Targets without a first decision, whose agent is not known yet; absent by reason and service, of a service, an agent or an environment, and where no scorer runs.',
      ),
    reasons: z
      .partialRecord(z.enum(DECISION_STATUSES), z.record(z.string(), z.number()))
      .describe('Codes of the reasons with their numbers, by status.'),
    estimate: z
      .object({
        eligible: count,
        scored: count,
        notApplicable: count,
        deferred: count,
        failed: count,
        unweighted: count.describe('Sampled decisions without a weight, which the estimates leave out.'),
      })
      .describe('Horvitz-Thompson estimates for the whole traffic.'),
    since: Time.nullable().describe('Start of the range: a whole hour, when it reaches into past hours.'),
  })
  .openapi('Coverage');

const { since, until, service, agent, environment } = SCORES_FIELDS;

const CoverageQuery = z.strictObject({
  since: since.describe('Oldest last span of a target: `24h` (the default), or a date and time.'),
  until,
  service,
  agent,
  environment,
  scorer: FILTER_FIELDS.scorer.describe('Only these scorers, by the names in the rules.'),
  rule: FILTER_FIELDS.rule.describe(
    'Only these rules; with a backfill or a command, its decisions count, too.',
  ),
  by: z
    .enum(COVERAGE_GROUPS)
    .optional()
    .describe('One line for each value; without it one line with the total.'),
});

const readCoverage = describeRoute('get', '/coverage', {
  tag: 'aggregates',
  summary: 'Numbers of decisions of (target, rule, scorer), by their outcome.',
  request: { query: CoverageQuery },
  replies: { 200: describeJson('The lines.', describePage(Coverage)) },
});

const SHARE = { eligible: count, scored: count };

export const FunnelReply = z
  .object({
    runs: count.describe('Distinct runs.'),
    arrived: count.describe('eligible + filtered + waiting'),
    eligible: count,
    sampled: count,
    scored: count,
    losses: z.array(
      z.object({
        after: z.enum(FUNNEL_STEPS).describe('Step that loses them: without its losses it is the next step.'),
        status: z.enum(DECISION_STATUSES).nullable().describe('Null for what waits for a first decision.'),
        reason: z.string(),
        count,
        runs: count.describe('Distinct runs.'),
        traces: z
          .string()
          .describe('Address of the page that lists just these runs; of what waits, the newest 100.'),
        mend: z.string().nullable().describe('Key, setting or command that mends it.'),
      }),
    ),
    agents: z
      .array(z.object({ agent: z.string(), ...SHARE }))
      .describe('Agents with the most eligible pairs, 50 at most; one without a name goes by its service.'),
    trend: z
      .array(z.object({ bucket: Time, ...SHARE }))
      .describe('The same over time; steps without runs are absent.'),
    bucket: z.enum(['1h', '1d']).describe('Length of a step: an hour in a range of three days or less.'),
    since: Time.describe('Start of the range: a whole hour, when it reaches into hours that are summed.'),
    until: Time,
  })
  .openapi('Funnel');

const readFunnel = describeRoute('get', '/coverage/funnel', {
  tag: 'aggregates',
  summary:
    'Way from runs to scores by the start of the run, in numbers of (run, rule, scorer), with each loss.',
  description: 'What waits for a first decision has no agent yet: it counts without a filter only.',
  request: { query: z.strictObject({ since, until, agent, environment }) },
  replies: { 200: describeJson('The funnel.', FunnelReply) },
});

export function createCoverageRoutes() {
  return createRouter()
    .openapi(readCoverage, async (c) => {
      const store = tenantStore(c.var);
      const { by, since: from, until: to, scorer, rule, ...choice } = c.req.valid('query');
      const nowMs = await store.nowMs();
      const { fromMs, toMs } = readRange({ since: from, until: to }, { nowMs, defaultMs: DAY_MS });
      const range = { sinceMs: fromMs, untilMs: to === undefined ? undefined : toMs, nowMs };
      const asked = { ...range, ...choice, byService: by === 'service' };
      const { decided, waiting, sinceMs } = await store.coverage(asked);
      return c.json(
        { items: coverageLines(decided, waiting, { by, sinceMs, scorer, rule }), next: null },
        200,
      );
    })
    .openapi(readFunnel, async (c) => {
      const store = tenantStore(c.var);
      const { agent: names, environment: places, ...query } = c.req.valid('query');
      const nowMs = await store.nowMs();
      const range = readRange(query, { nowMs, defaultMs: DAY_MS });
      const request = { ...range, nowMs, agent: names, environment: places };
      return c.json(buildFunnel(await store.funnel(request), request), 200);
    });
}
