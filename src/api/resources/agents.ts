import { z } from '@hono/zod-openapi';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { COST_KEYS } from '../../store/contracts/sums.ts';
import { isoTime, orNull, Time } from '../json/rows.ts';
import type { AgentView } from '../reads/agents.ts';
import { createRouter, describeJson, describeRoute, tenantStore } from '../router.ts';
import { isoText, Rate, readRange, SCORES_FIELDS } from './aggregates/query.ts';

const { since, until, agent, environment } = SCORES_FIELDS;

const count = z.number();

const Quality = z
  .object({
    scorer: z.string(),
    isDeclared: z
      .boolean()
      .describe(
        'True when labels or a bar of the scorer say which scores pass; false for the better half of its range.',
      ),
    pass: orNull(Rate).describe('Weighted share of the scores that pass, as the scorer says.'),
    before: orNull(Rate).describe('The same of the 14 days before the range.'),
    change: z.number().nullable(),
    significant: z
      .boolean()
      .describe(
        "True when the 95 % interval of the change leaves out 0 (Newcombe's interval, two-sided, on effective numbers).",
      ),
    median: z.number().nullable().describe('Median score.'),
    medianBefore: z.number().nullable(),
    points: z
      .array(z.number().nullable())
      .describe(
        'Pass rates of the last 24 hours of a range of a day or less, else of its days; null without scores.',
      ),
  })
  .openapi('Quality');

const Version = z.object({
  version: z.string().describe("Version of the agent, else of its service; '' for runs without one."),
  firstSeen: Time.nullable().describe('Start of the first stored run with this version.'),
  runs: count,
});

const AGENT_FIELDS = {
  agent: z.string().describe('Name; an agent without a name goes by its service.'),
  service: z.string().describe('Service with the most runs.'),
  runs: count,
  versions: z.array(Version).describe('Versions with runs in the range, the last begun first.'),
  qualities: z.array(Quality).readonly(),
  toolErrors: orNull(Rate).describe('Share of the runs with a failed tool call.'),
  costUsd: z.number().nullable().describe('Cost of the runs whose cost is known.'),
  unpricedModels: z
    .array(z.string())
    .readonly()
    .describe('Models of runs without a cost that have no price.'),
  p95Ms: z.number().nullable(),
};

export const AgentItem = z.object(AGENT_FIELDS).openapi('Agent');

export const AgentDetail = z
  .object({
    ...AGENT_FIELDS,
    versions: z.array(
      Version.extend({ qualities: z.array(z.object({ scorer: z.string(), pass: orNull(Rate) })) }),
    ),
    tools: z
      .array(z.object({ name: z.string(), calls: count, errors: count, p95Ms: count }))
      .describe('Tools of stored spans, the most called first.'),
    models: z.array(z.object({ model: z.string(), runs: count, costUsd: z.number().nullable() })),
    users: z
      .array(z.object({ userId: z.string(), runs: count, failing: count }))
      .describe('Users with the most runs that have a failing score.'),
  })
  .openapi('AgentDetail');

const VersionSide = z.object({
  version: z.string(),
  runs: count,
  tokens: z.number().nullable().describe('Mean tokens of a run.'),
  p50Ms: z.number().nullable(),
});

export const VersionsReply = z
  .object({
    left: VersionSide,
    right: VersionSide,
    items: z.array(
      z.object({
        scorer: z.string(),
        left: orNull(Rate),
        right: orNull(Rate),
        evidenceLog10: z
          .number()
          .nullable()
          .describe(
            'Decimal logarithm of the e-value against equal pass rates: the likelihood ratio of a uniform distribution to the hypergeometric one.',
          ),
        verdict: z
          .enum(['worse', 'better', 'not_shown'])
          .describe(
            '`worse`: the right side is; at most 5 % of the shown differences are none, on average (e-BH).',
          ),
      }),
    ),
  })
  .openapi('VersionsOfAgent');

export const CostsReply = z
  .object({
    items: z.array(
      z.object({
        key: z.string(),
        bucket: Time,
        agentUsd: z
          .number()
          .nullable()
          .describe("Cost of agents' models by the start of the run; null by rule or scorer."),
        judgeUsd: z
          .number()
          .nullable()
          .describe('Cost of judges by the time of the call: calls of the last 30 days are stored.'),
        runs: count,
        unpriced: count.describe(
          'Runs without a known cost; by rule and scorer, runs with a judge call without one.',
        ),
      }),
    ),
    next: z.null(),
  })
  .openapi('Costs');

const AgentName = z.strictObject({ agent: z.string().min(1).max(1_000) });

const listAgents = describeRoute('get', '/agents', {
  tag: 'agents',
  summary: 'Agents with their qualities, versions, costs and tool errors in a range: 24 hours by default.',
  request: { query: z.strictObject({ since, until, agent, environment }) },
  replies: {
    200: describeJson(
      'The agents, those with the most runs first.',
      z.object({ items: z.array(AgentItem), next: z.null() }),
    ),
  },
});

const readAgent = describeRoute('get', '/agents/{agent}', {
  tag: 'agents',
  summary: 'One agent: also its tools, models, and the users with the most failing runs.',
  request: { params: AgentName, query: z.strictObject({ since, until, environment }) },
  replies: { 200: describeJson('The agent.', AgentDetail) },
});

const compareVersions = describeRoute('get', '/agents/{agent}/versions', {
  tag: 'agents',
  summary: 'Two versions of an agent side by side, from all of their stored runs unless a range is given.',
  request: {
    params: AgentName,
    query: z.strictObject({
      left: z.string().max(1_000),
      right: z.string().max(1_000),
      since,
      until,
      environment,
    }),
  },
  replies: { 200: describeJson('The comparison.', VersionsReply) },
});

const listCosts = describeRoute('get', '/costs', {
  tag: 'agents',
  summary: 'Costs of agents and judges over time: 30 days by default.',
  request: {
    query: z.strictObject({
      by: z.enum(COST_KEYS).describe('What `key` is.'),
      bucket: z.enum(['1h', '1d']).default('1d').describe('Length of a bucket.'),
      since,
      until,
      agent,
      environment,
    }),
  },
  replies: { 200: describeJson('A line for each key and bucket.', CostsReply) },
});

/** Default range of costs, milliseconds. */
const COSTS_MS = 30 * DAY_MS;

export function createAgentRoutes() {
  return createRouter()
    .openapi(listAgents, async (c) => {
      const { agents, nowMs } = tenantStore(c.var);
      const query = c.req.valid('query');
      const range = readRange(query, { nowMs: await nowMs(), defaultMs: DAY_MS });
      const items = await agents.list({ ...range, agent: query.agent, environment: query.environment });
      return c.json({ items: items.map(agentJson), next: null }, 200);
    })
    .openapi(readAgent, async (c) => {
      const { agents, nowMs } = tenantStore(c.var);
      const query = c.req.valid('query');
      const range = readRange(query, { nowMs: await nowMs(), defaultMs: DAY_MS });
      const found = await agents.read(c.req.valid('param').agent, {
        ...range,
        environment: query.environment,
      });
      const versions = found.versions.map(({ qualities, ...version }) => ({
        ...versionJson(version),
        qualities,
      }));
      const { tools, models, users } = found;
      return c.json({ ...agentJson(found), versions, tools, models, users }, 200);
    })
    .openapi(compareVersions, async (c) => {
      const { agents, nowMs } = tenantStore(c.var);
      const { left, right, environment: asked, ...query } = c.req.valid('query');
      const atMs = await nowMs();
      const range = readRange(query, { nowMs: atMs, defaultMs: atMs });
      const name = c.req.valid('param').agent;
      return c.json(await agents.compareVersions(name, { ...range, left, right, environment: asked }), 200);
    })
    .openapi(listCosts, async (c) => {
      const { agents, nowMs } = tenantStore(c.var);
      const { by, bucket, ...query } = c.req.valid('query');
      const range = readRange(query, { nowMs: await nowMs(), defaultMs: COSTS_MS });
      const bucketMs = bucket === '1h' ? HOUR_MS : DAY_MS;
      const { agent: names, environment: asked } = query;
      const costs = await agents.costs({ ...range, by, bucketMs, agent: names, environment: asked });
      const items = costs.map(({ bucketMs: startMs, ...cost }) => ({ ...cost, bucket: isoText(startMs) }));
      return c.json({ items, next: null }, 200);
    });
}

function agentJson({ versions, ...item }: AgentView) {
  return { ...item, versions: versions.map(versionJson) };
}

function versionJson({ version, firstMs, runs }: AgentView['versions'][number]) {
  return { version, firstSeen: isoTime(firstMs), runs };
}
