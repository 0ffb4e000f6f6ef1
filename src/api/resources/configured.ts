import { z } from '@hono/zod-openapi';
import type { Rule } from '../../config/index.ts';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { Time, isoTime, BUDGET_FIELDS, budgetJson, pick } from '../json/rows.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { describePage } from '../lists/cursors.ts';
import { NoQuery } from '../lists/fields.ts';
import { readRange, SCORES_FIELDS } from './aggregates/query.ts';
import { describeRoute, createRouter, describeJson, tenantStore } from '../router.ts';
import type { JudgesView, RuleView } from '../reads/configuration.ts';

export const ScorerItem = z
  .object({
    scorer: z.string(),
    use: z.string().nullable().describe('Prebuilt scorer; null for a module.'),
    measures: z
      .string()
      .nullable()
      .describe("What it measures, in words that complete 'Measures …'; null for a module."),
    module: z.string().nullable(),
    kind: z.enum(['code', 'judge', 'own']),
    version: z.string().nullable(),
    judge: z.string().nullable(),
    fingerprint: z.string().nullable(),
    higherIsBetter: z.boolean().nullable(),
    scoreMin: z.number().nullable(),
    scoreMax: z.number().nullable(),
    rows: z.array(z.string()).readonly().describe('Names of its score rows.'),
    passLines: z
      .array(
        z.object({
          line: z.number().describe('Directed score, from 0 (worst) to 1, from which scores pass.'),
          isDeclared: z
            .boolean()
            .describe('True when labels or a bar say it; false for the better half of the range.'),
        }),
      )
      .readonly()
      .describe('Line of each row, in their order.'),
    rules: z.array(z.string()).readonly().describe('Rules that use it.'),
    activeFrom: Time.nullable().describe('In force since then; null for a scorer of no rule.'),
  })
  .openapi('Scorer');

/** Schema of a part of the configuration, whose own schema has checked it. */
function describeConfigured<Value>() {
  return z.looseObject({}) as unknown as z.ZodType<Value>;
}

export const RuleItem = z
  .object({
    rule: z.string(),
    version: z.string().nullable(),
    activeFrom: Time.nullable().describe('In force since then; null before a scorer process has loaded it.'),
    target: z.enum(TARGET_KINDS),
    scorers: z.array(z.string()).readonly(),
    where: describeConfigured<NonNullable<Rule['where']>>().describe('Conditions as they are configured.'),
    sample: describeConfigured<Rule['sample']>().describe('Sampling as it is configured.'),
    budget: describeConfigured<NonNullable<Rule['budget']>>().nullable(),
    versions: z
      .array(z.object({ version: z.string(), activeFrom: Time.nullable(), rate: z.number() }))
      .readonly()
      .describe('All versions, the newest first.'),
    decisions: z
      .object({ since: Time.nullable(), scored: z.number(), eligible: z.number() })
      .describe('Counts of the last 24 hours.'),
  })
  .openapi('Rule');

const CallCounts = {
  calls: z.number(),
  failed: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
  latencyP50Ms: z.number().nullable(),
  latencyP95Ms: z.number().nullable(),
};

const JudgeItem = z
  .object({
    judge: z.string().describe('`provider/model`.'),
    ...CallCounts,
    failures: z
      .record(z.string(), z.number())
      .describe('Failed calls by reason, also those whose reply could not be used.'),
    cacheHits: z
      .number()
      .nullable()
      .describe('Answers that needed no call; null in a process that scores nothing.'),
    breaker: z
      .enum(['closed', 'half_open', 'open'])
      .nullable()
      .describe('Null in a process that scores nothing.'),
    scorers: z.array(z.string()).readonly(),
    hours: z.array(z.object({ hour: Time.nullable(), ...CallCounts })).readonly(),
  })
  .openapi('Judge');

const Budget = z
  .object({
    ...BUDGET_FIELDS,
    reservedUsd: z.number().describe('Leased by running processes and not spent.'),
    leftUsd: z.number(),
  })
  .openapi('Budget');

export const JudgePage = z
  .object({
    items: z.array(JudgeItem).readonly(),
    next: z.null(),
    since: Time.nullable(),
    budgets: z.array(Budget).readonly(),
  })
  .openapi('Judges');

const NO_USE: z.output<z.ZodObject<typeof CallCounts>> = {
  calls: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  latencyP50Ms: null,
  latencyP95Ms: null,
};

const listScorers = describeRoute('get', '/scorers', {
  tag: 'configuration',
  summary: 'Scorers that rules use or that are configured.',
  request: { query: NoQuery },
  replies: { 200: describeJson('The scorers.', describePage(ScorerItem)) },
});

const listRules = describeRoute('get', '/rules', {
  tag: 'configuration',
  summary: 'Rules, and since when they are in force.',
  request: { query: NoQuery },
  replies: { 200: describeJson('The rules.', describePage(RuleItem)) },
});

const { since, until, agent, environment } = SCORES_FIELDS;

const listJudges = describeRoute('get', '/judges', {
  tag: 'configuration',
  summary: 'Judges: calls, cost, latency, failures and budgets.',
  description:
    'Of an agent or an environment, the calls about their runs count. Budgets, breakers and the cache stand for all agents: agents share them.',
  request: { query: z.strictObject({ since, until, agent, environment }) },
  replies: { 200: describeJson('The judges.', JudgePage) },
});

export function createConfiguredRoutes() {
  return createRouter()
    .openapi(listScorers, async (c) => {
      const scorers = await tenantStore(c.var).configuration.scorers();
      const items = scorers.map(({ activeFromMs, ...rest }) => ({
        ...rest,
        activeFrom: isoTime(activeFromMs),
      }));
      return c.json({ items, next: null }, 200);
    })
    .openapi(listRules, async (c) => {
      const rules = await tenantStore(c.var).configuration.rules();
      return c.json({ items: rules.map(ruleJson), next: null }, 200);
    })
    .openapi(listJudges, async (c) => {
      const { configuration, nowMs } = tenantStore(c.var);
      const { since: from, until: to, ...choice } = c.req.valid('query');
      const range = readRange({ since: from, until: to }, { nowMs: await nowMs(), defaultMs: DAY_MS });
      return c.json(judgesJson(await configuration.judges({ ...range, ...choice }), range.fromMs), 200);
    });
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

/** Formats the judges as JSON, with the budgets beside them. */
function judgesJson({ judges, caps }: JudgesView, sinceMs: number) {
  return {
    items: judges.map(({ judge, use, state }) => {
      const total = use.find(({ hourMs }) => hourMs === null);
      return {
        judge,
        ...(total === undefined ? NO_USE : pick(CallCounts, total)),
        failures: total?.failures ?? {},
        cacheHits: state?.cacheHits ?? null,
        breaker: state?.breaker ?? null,
        scorers: total?.scorers ?? [],
        hours: use.flatMap((each) =>
          each.hourMs === null ? [] : [{ hour: isoTime(each.hourMs), ...pick(CallCounts, each) }],
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
