import { createRoute, z } from '@hono/zod-openapi';
import { DAY_MS } from '../../domain/durations.ts';
import { describePage } from '../lists/cursors.ts';
import { FILTER_FIELDS, NoQuery, readFilters } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { JudgePage, RuleItem, ScorerItem } from '../schemas/configured-schema.ts';
import type { JudgeUse } from '../../store/contracts/judge-use.ts';
import { budgetJson } from '../json/budget-json.ts';
import type { JudgesView, RuleView, ScorerView } from '../reads/configuration.ts';
import { isoTime } from '../json/time-json.ts';

const NO_USE: Counts = {
  calls: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  latencyP50Ms: null,
  latencyP95Ms: null,
};

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

/** Formats a configured scorer as JSON. */
function scorerJson({ activeFromMs, ...rest }: ScorerView) {
  return { ...rest, activeFrom: isoTime(activeFromMs) };
}

/** Formats a rule as JSON: as it is configured, with its versions. */
function ruleJson({ rule, version, versions, sinceMs, eligible, scored }: RuleView) {
  const current = versions.find((each) => each.version === version);
  return {
    rule: rule.name,
    version: version ?? null,
    activeFrom: isoTime(current?.activeFromMs ?? null),
    target: rule.target,
    scorers: rule.scorers,
    where: rule.where ?? {},
    sample: rule.sample,
    budget: rule.budget ?? null,
    versions: versions.map((each) => ({
      version: each.version,
      activeFrom: isoTime(each.activeFromMs),
      rate: each.probability,
    })),
    decisions: { since: isoTime(sinceMs), scored, eligible },
  };
}

interface Counts extends Omit<
  JudgeUse,
  'judge' | 'hourMs' | 'scorers' | 'failures' | 'latencyP50Ms' | 'latencyP95Ms'
> {
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
}

/** Formats the judges as JSON, with the budgets beside them. */
function judgesJson({ judges, caps }: JudgesView, sinceMs: number) {
  return {
    items: judges.map(({ judge, use, state }) => {
      const total = use.find(({ hourMs }) => hourMs === null);
      return {
        judge,
        ...(total === undefined ? NO_USE : countsJson(total)),
        failures: total?.failures ?? {},
        cacheHits: state?.cacheHits ?? null,
        breaker: state?.breaker ?? null,
        scorers: total?.scorers ?? [],
        hours: use.flatMap((each) =>
          each.hourMs === null ? [] : [{ hour: isoTime(each.hourMs), ...countsJson(each) }],
        ),
      };
    }),
    next: null,
    since: isoTime(sinceMs),
    budgets: caps.map((cap) => ({
      ...budgetJson(cap),
      reservedUsd: cap.reservedUsd,
      leftUsd: Math.max(0, cap.capUsd - cap.spentUsd - cap.reservedUsd),
    })),
  };
}

function countsJson(use: JudgeUse): Counts {
  const { calls, failed, inputTokens, outputTokens, costUsd, latencyP50Ms, latencyP95Ms } = use;
  return { calls, failed, inputTokens, outputTokens, costUsd, latencyP50Ms, latencyP95Ms };
}
