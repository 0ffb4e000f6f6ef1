import { z } from '@hono/zod-openapi';
import { DECISION_STATUSES } from '../../../domain/decision.ts';
import { DAY_MS } from '../../../domain/durations.ts';
import { COVERAGE_GROUPS, coverageLines } from '../../reads/coverage.ts';
import { describePage } from '../../lists/cursors.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Time } from '../../json/rows.ts';
import { readMoment } from '../../lists/fields.ts';

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
      .describe('Targets without a first decision; absent by reason and service, and where no scorer runs.'),
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

const CoverageQuery = z.strictObject({
  since: z
    .string()
    .optional()
    .describe('Oldest last span of a target: `24h` (the default), or a date and time.'),
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

/** Creates the route of the coverage. */
export function createCoverageRoutes() {
  return createRouter().openapi(readCoverage, async (c) => {
    const store = tenantStore(c.var);
    const { by, since } = c.req.valid('query');
    const nowMs = await store.nowMs();
    const fromMs = readMoment('since', since, nowMs) ?? nowMs - DAY_MS;
    const byService = by === 'service';
    const { decided, waiting, sinceMs } = await store.coverage({ sinceMs: fromMs, nowMs, byService });
    return c.json({ items: coverageLines(decided, waiting, { by, sinceMs }), next: null }, 200);
  });
}
