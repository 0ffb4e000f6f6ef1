import { z } from '@hono/zod-openapi';
import { DAY_MS } from '../../domain/durations.ts';
import type { Context } from 'hono';
import type { IssueChange, IssueExample } from '../reads/issues.ts';
import { ISSUE_STATES, type IssueReading } from '../../issues/read-issues.ts';
import { anyOf, FILTER_FIELDS, hexId, NoQuery, readMoment } from '../lists/fields.ts';
import { createList, CURSOR_FIELDS, describePage } from '../lists/cursors.ts';
import { isoTime, orNull, pick, Time } from '../json/rows.ts';
import {
  type ApiEnv,
  describeBody,
  describeJson,
  describeRoute,
  createRouter,
  tenantStore,
} from '../router.ts';
import type { TenantStore } from '../tenant-store.ts';
import { FAILURE_KINDS } from '../../domain/failure.ts';

const DEFAULT_RANGE = '7d';

const Rate = z
  .object({ value: z.number(), low: z.number(), high: z.number(), n: z.number() })
  .describe('Share of all runs of the agent with its 95 % interval; `n` is the effective number of runs.');

export const Issue = z
  .object({
    id: z.string(),
    aliases: z.array(z.string()).readonly().describe('Further ids of the issue; each route takes them.'),
    title: z.string(),
    kind: z.enum(FAILURE_KINDS),
    agent: z.string(),
    tenant: z.string(),
    subject: z
      .record(z.string(), z.string())
      .describe('What makes failures of the kind the same; texts are masked.'),
    state: z.enum(ISSUE_STATES),
    share: orNull(Rate),
    runs: z.number().describe('Runs seen with it, not estimated.'),
    users: z.number(),
    sessions: z.number(),
    firstSeen: Time.nullable().describe('Start of the first run with it, also before the range.'),
    lastSeen: Time.nullable().describe('Start of the last run with it in the range.'),
    points: z.array(z.number().nullable()).readonly().describe('Shares by equal parts of the range.'),
    versions: z
      .array(z.object({ version: z.string(), runs: z.number(), share: orNull(Rate) }))
      .readonly()
      .describe('Of the agent, else of its service.'),
    resolvedVersion: z.string().describe("'' without one."),
    verification: orNull(
      z.object({
        version: z.string(),
        state: z.enum(['running', 'verified', 'not-verified']),
        before: orNull(Rate).describe('Share of the 30 days before the version.'),
        since: orNull(Rate).describe('Share since then; its interval holds however often it is looked at.'),
        decidedAt: Time.nullable(),
      }),
    ).describe('Test of the version that it was resolved in; null without one.'),
  })
  .openapi('Issue');

export const IssueName = z
  .object({ id: z.string(), title: z.string(), kind: z.enum(FAILURE_KINDS) })
  .openapi('IssueName');

export const IssueDetail = Issue.extend({
  examples: z
    .array(
      z.object({
        traceId: z.string(),
        at: Time.nullable(),
        question: z.string().nullable().describe('Null once the spans have expired, as the other texts.'),
        answer: z.string().nullable(),
        claim: z.string().nullable(),
        evidence: orNull(z.object({ source: z.string(), quote: z.string(), spanId: z.string() })),
        error: z.string().nullable(),
        comment: z.string().nullable(),
      }),
    )
    .readonly()
    .describe('The newest runs with it.'),
  segments: z
    .array(z.object({ dimension: z.string(), value: z.string(), runs: z.number(), share: orNull(Rate) }))
    .readonly()
    .describe(
      'Versions, models, environments, services and tools of the runs: `share` is of the runs of the segment.',
    ),
  history: z.array(z.object({ at: z.string(), by: z.string().nullable(), what: z.string() })).readonly(),
}).openapi('IssueDetail');

const RANGE_FIELDS = {
  since: FILTER_FIELDS.since.describe(`Oldest start of a run. Default: ${DEFAULT_RANGE}.`),
  until: FILTER_FIELDS.until,
};

const listIssues = describeRoute('get', '/issues', {
  tag: 'issues',
  summary:
    'What goes wrong, how often and since when: the greatest share first. An issue whose share changes between two pages may come twice or not at all.',
  request: {
    query: z.strictObject({
      ...RANGE_FIELDS,
      ...CURSOR_FIELDS,
      agent: FILTER_FIELDS.agent,
      environment: FILTER_FIELDS.environment.describe('Environment: only its runs count.'),
      version: anyOf(z.string().min(1).max(1_000), 'Version of the agent, else of its service.'),
      state: anyOf(z.enum(ISSUE_STATES), 'State.'),
      kind: anyOf(z.enum(FAILURE_KINDS), 'Kind of the failures.'),
    }),
  },
  replies: { 200: describeJson('A page of issues.', describePage(Issue)) },
});

const issueList = createList('issues');

const IdParams = z.strictObject({ id: z.string().min(1).max(100).describe('Id of an issue, or an alias.') });

const readIssue = describeRoute('get', '/issues/{id}', {
  tag: 'issues',
  summary: 'One issue with examples.',
  request: { query: z.strictObject(RANGE_FIELDS), params: IdParams },
  replies: { 200: describeJson('The issue.', IssueDetail) },
});

const listTraces = describeRoute('get', '/issues/{id}/traces', {
  tag: 'issues',
  summary: 'The newest runs with an issue, 500 at most.',
  request: { query: z.strictObject(RANGE_FIELDS), params: IdParams },
  replies: {
    200: describeJson(
      'The runs.',
      describePage(
        z.object({
          traceId: z.string(),
          at: Time.nullable(),
          agent: z.string(),
          version: z.string(),
          userId: z.string(),
        }),
      ),
    ),
  },
});

/** Most cases of an export. */
export const CASES = { default: 20, most: 200 };

const IssueCase = z
  .object({
    id: z.string().describe('12 hex digits, the same in every export.'),
    input: z.string().describe('The question. Every text is redacted.'),
    output: z.string().describe('The recorded bad answer.'),
    context: z.array(z.string()).readonly(),
    tags: z.array(z.string()).readonly(),
    metadata: z.object({
      issue: z.string(),
      traceId: z.string(),
      expect: z
        .object({ scorer: z.string(), min: z.number() })
        .nullable()
        .describe(
          'Score from 0 (worst) to 1 (best) that a good answer has at least; null: no scorer finds it.',
        ),
      score: z.number().nullable().describe('Score of the recorded answer, from 0 (worst) to 1 (best).'),
      flaky: z.boolean(),
    }),
  })
  .openapi('IssueCase');

const listCases = describeRoute('get', '/issues/{id}/tests', {
  tag: 'issues',
  summary: 'Failures of an issue as cases of a test, the newest first.',
  request: {
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(CASES.most).default(CASES.default) }),
    params: IdParams,
  },
  replies: { 200: describeJson('The cases.', describePage(IssueCase)) },
});

const describeChange = <Body extends z.ZodType>(what: string, summary: string, body: Body) =>
  describeRoute('post', `/issues/{id}/${what}`, {
    tag: 'issues',
    summary,
    request: { query: NoQuery, params: IdParams, body: describeBody(body) },
    replies: { 200: describeJson('The issue after it.', Issue) },
  });

const resolveIssue = describeChange(
  'resolve',
  'Says that an issue is mended.',
  z.strictObject({ version: z.string().min(1).max(1_000).optional() }).openapi('ResolveIssue'),
);
const reopenIssue = describeChange('reopen', 'Opens an issue again.', z.strictObject({}));
const ignoreIssue = describeChange('ignore', 'Leaves an issue alone.', z.strictObject({}));
const mergeIssue = describeChange(
  'merge',
  'Joins an issue to another one of the agent. Its id becomes an alias.',
  z.strictObject({ into: z.string().min(1).max(100) }).openapi('MergeIssue'),
);

const splitIssue = describeChange(
  'split',
  'Takes the failures of some traces out of an issue, as an issue of their own, which is the reply.',
  z.strictObject({ traceIds: z.array(hexId(32)).min(1).max(1_000) }).openapi('SplitIssue'),
);

export function createIssueRoutes() {
  return createRouter()
    .openapi(listIssues, async (c) => {
      const store = tenantStore(c.var);
      const { since, until, limit, cursor, ...given } = c.req.valid('query');
      const { page } = issueList.readQuery({ limit, cursor }, 0);
      const {
        agent: agents,
        version: versions,
        environment: environments,
        state: states,
        kind: kinds,
      } = given;
      const range = await readRange(store, { since, until });
      const found = await store.issues.list(
        { ...range, agents, versions, environments, states, kinds },
        page,
      );
      return c.json(issueList.toReply(found, issueJson), 200);
    })
    .openapi(readIssue, async (c) => {
      const store = tenantStore(c.var);
      const range = await readRange(store, c.req.valid('query'));
      const { issue, examples, segments } = await store.issues.read(c.req.valid('param').id, range);
      const { history } = issue;
      const shown = segments.map((segment) => ({ ...segment, share: rateJson(segment.share) }));
      return c.json(
        { ...issueJson(issue), examples: examples.map(exampleJson), segments: shown, history },
        200,
      );
    })
    .openapi(listTraces, async (c) => {
      const store = tenantStore(c.var);
      const range = await readRange(store, c.req.valid('query'));
      const found = await store.issues.traces(c.req.valid('param').id, range);
      const items = found.map(({ traceId, traceTimestamp, agent, agentVersion, serviceVersion, userId }) => ({
        traceId,
        at: isoTime(traceTimestamp),
        agent,
        version: agentVersion || serviceVersion,
        userId,
      }));
      return c.json({ items, next: null }, 200);
    })
    .openapi(listCases, async (c) => {
      const { cases } = await tenantStore(c.var).issues.cases(
        c.req.valid('param').id,
        c.req.valid('query').limit,
      );
      return c.json({ items: cases.map(({ shown }) => shown), next: null }, 200);
    });
}

export function createIssueChangeRoutes() {
  return createRouter()
    .openapi(resolveIssue, async (c) => {
      const { version } = c.req.valid('json');
      return c.json(await change(c, { ...c.req.valid('param'), what: 'resolve', version }), 200);
    })
    .openapi(reopenIssue, async (c) =>
      c.json(await change(c, { ...c.req.valid('param'), what: 'reopen' }), 200),
    )
    .openapi(ignoreIssue, async (c) =>
      c.json(await change(c, { ...c.req.valid('param'), what: 'ignore' }), 200),
    )
    .openapi(mergeIssue, async (c) => {
      const { into } = c.req.valid('json');
      return c.json(await change(c, { ...c.req.valid('param'), what: 'merge', into }), 200);
    })
    .openapi(splitIssue, async (c) => {
      const { traceIds } = c.req.valid('json');
      return c.json(await change(c, { ...c.req.valid('param'), what: 'split', traceIds }), 200);
    });
}

async function change({ var: variables }: Context<ApiEnv>, asked: IssueChange) {
  const store = tenantStore(variables);
  const { issues } = await store.openWrites('issue.change', { kind: 'issue', id: asked.id });
  const { issue } = await store.issues.read(await issues.change(asked), await readRange(store, {}));
  return issueJson(issue);
}

async function readRange(
  store: TenantStore,
  {
    since = DEFAULT_RANGE,
    until,
  }: { readonly since?: string | undefined; readonly until?: string | undefined },
) {
  const nowMs = await store.nowMs();
  return {
    sinceMs: readMoment('since', since, nowMs) ?? 0,
    // A run may begin by a clock that is a little ahead.
    untilMs: readMoment('until', until, nowMs) ?? nowMs + DAY_MS,
  };
}

/** Formats an issue as JSON; times in ISO 8601. */
function issueJson(issue: IssueReading) {
  const subject = Object.entries(issue.subject ?? {}).filter(([, value]) => value !== '');
  return {
    ...pick(Issue.shape, issue),
    id: issue.issueId,
    subject: Object.fromEntries(subject) as Record<string, string>,
    state: issue.shownState,
    share: rateJson(issue.share),
    firstSeen: isoTime(Math.min(issue.firstSeen, issue.firstMs)),
    lastSeen: isoTime(issue.lastMs),
    versions: issue.versions.map((each) => ({ ...each, share: rateJson(each.share) })),
  };
}

function rateJson(rate: IssueReading['share']) {
  return rate && { value: rate.value, low: rate.low, high: rate.high, n: rate.effectiveN };
}

function exampleJson({ failure, run }: IssueExample) {
  const { traceId, traceTimestamp, text, evidence } = failure;
  const kind: string = failure.kind;
  const textOf = (...kinds: string[]) => (kinds.includes(kind) ? text || null : null);
  return {
    traceId,
    at: isoTime(traceTimestamp),
    question: run?.question || null,
    answer: run?.answer || textOf('answer'),
    claim: textOf('claim'),
    evidence,
    error: textOf('tool-error', 'error'),
    comment: textOf('feedback'),
  };
}
