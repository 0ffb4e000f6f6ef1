import { createRoute, z } from '@hono/zod-openapi';
import { DAY_MS } from '../../domain/durations.ts';
import { judgesJson, ruleJson, scorerJson } from '../json/configuration-json.ts';
import { describePage } from '../lists/cursors.ts';
import { FILTER_FIELDS, NoQuery, readFilters } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { JudgePage, RuleItem, ScorerItem } from '../schemas/configured-schema.ts';

const listScorers = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/scorers',
  tags: ['configuration'],
  summary: 'Scorers that rules use or that are configured.',
  request: { query: NoQuery },
  responses: { 200: describeJson('The scorers.', describePage(ScorerItem)), ...PROBLEMS },
});

const listRules = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/rules',
  tags: ['configuration'],
  summary: 'Rules, and since when they are in force.',
  request: { query: NoQuery },
  responses: { 200: describeJson('The rules.', describePage(RuleItem)), ...PROBLEMS },
});

const listJudges = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/judges',
  tags: ['configuration'],
  summary: 'Judges: calls, cost, latency, failures and budgets.',
  request: { query: z.strictObject({ since: FILTER_FIELDS.since }) },
  responses: { 200: describeJson('The judges.', JudgePage), ...PROBLEMS },
});

/** Creates the routes of what is configured. */
export function createConfiguredRoutes() {
  return createRouter()
    .openapi(listScorers, async (c) => {
      const scorers = await tenantStore(c.var).configuration.scorers();
      return c.json({ items: scorers.map(scorerJson), next: null }, 200);
    })
    .openapi(listRules, async (c) => {
      const rules = await tenantStore(c.var).configuration.rules();
      return c.json({ items: rules.map(ruleJson), next: null }, 200);
    })
    .openapi(listJudges, async (c) => {
      const { configuration, nowMs } = tenantStore(c.var);
      const now = await nowMs();
      const { sinceMs = now - DAY_MS } = readFilters(c.req.valid('query'), now);
      return c.json(judgesJson(await configuration.judges(sinceMs), sinceMs), 200);
    });
}
