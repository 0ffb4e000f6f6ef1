import { IssueName } from './issues.ts';
import { z } from '@hono/zod-openapi';
import { DECISION_STATUSES, type StatusCounts } from '../../domain/decision.ts';
import {
  Time,
  DecisionItem,
  ScoreItem,
  orNull,
  decisionJson,
  scoreJson,
  computedJson,
  isoTime,
  pick,
} from '../json/rows.ts';
import { MAX_TEXTS, Reading, Usage, createTextCutter, type TextCutter } from '../json/reading.ts';
import { readWhole } from '../access/limits.ts';
import type { CompleteTrace, StepSpan, TraceView } from '../reads/traces.ts';
import { createList, describePage, refuseCursor, CURSOR_FIELDS } from '../lists/cursors.ts';
import { anyOf, NoQuery, hexId, TenantQuery, FILTER_FIELDS, TRACE_FIELDS } from '../lists/fields.ts';
import { describeRoute, createRouter, describeJson, tenantStore } from '../router.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { TRACE_FACETS, type TraceSummary } from '../../store/contracts/lists.ts';
import type { Attributes } from '../../domain/trace/span.ts';

const ScoreBrief = z
  .object({
    scoreId: z.string(),
    scorer: z.string(),
    score: z.number(),
    label: z.string(),
    higherIsBetter: z.boolean().nullable(),
    source: z.enum(['live', 'backfill', 'human', 'api']),
    passes: z
      .boolean()
      .nullable()
      .describe(
        'By the labels of the scorer, else by its bar, else the better half. Null without a range or a direction.',
      ),
  })
  .openapi('ScoreBrief');

/** Facts of the arrival of a trace, in the order `arrived` only. */
const Arrival = z.object({
  services: z
    .array(z.string())
    .readonly()
    .describe('Services of its spans. With `order=arrived`, as what follows.'),
  spanCount: z.number(),
  firstArrival: Time.nullable(),
  lastArrival: Time.nullable(),
  rootSeen: z.boolean(),
  agentSeen: z
    .boolean()
    .describe('False for a trace without a span of an agent or a model: no rule scores it.'),
  errorSeen: z.boolean(),
});

export const TraceItem = z
  .object({
    tenant: z.string(),
    traceId: z.string(),
    spanId: z.string().nullable().describe('Root span of the run; null before the trace is read.'),
    sessionId: z.string().nullable(),
    userId: z.string().nullable(),
    agent: z.string().nullable(),
    agentVersion: z.string().nullable(),
    service: z.string().nullable(),
    serviceVersion: z.string().nullable(),
    environment: z.string().nullable(),
    startedAt: Time.nullable(),
    endedAt: Time.nullable(),
    durationMs: z.number().nullable(),
    status: z.enum(['ok', 'error']).nullable(),
    errorType: z.string().nullable(),
    models: z.array(z.string()).readonly(),
    usage: Usage,
    costUsd: z.number().nullable(),
    toolCalls: z.number().nullable(),
    toolErrors: z.number().nullable(),
    tools: z.array(z.string()).readonly().describe('Names of the called tools.'),
    question: z
      .string()
      .nullable()
      .describe(
        'First 500 characters of the question, in one line; null without one, and once the spans have expired.',
      ),
    answer: z.string().nullable().describe('The same of the answer.'),
    finding: z
      .object({
        scorer: z.string(),
        verdict: z.string(),
        claim: z.string(),
        quote: z.string().nullable().describe('Words of the evidence; null where the judge gave none.'),
      })
      .nullable()
      .describe('Bad verdict on a claim by the worst score that has one.'),
    notScored: z
      .array(z.object({ scorer: z.string(), reason: z.string() }))
      .readonly()
      .describe('Scorers that gave no score, with the reason; `*`: a whole rule.'),
    scores: z.array(ScoreBrief).readonly(),
    decisions: z.partialRecord(z.enum(DECISION_STATUSES), z.number()).describe('Decisions by status.'),
    state: z.enum(['waiting', 'scored', 'partly', 'not_scored']),
    ...Arrival.partial().shape,
  })
  .openapi('Trace');

const Attributes = z.record(z.string(), z.string());

export const SpanItem = z
  .object({
    traceId: z.string(),
    spanId: z.string(),
    parentSpanId: z.string().describe("'' for a root span."),
    name: z.string(),
    kind: z.enum(['agent', 'model', 'tool', 'retrieval', 'other']).describe('Kind of the step.'),
    spanKind: z.enum(['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer']),
    service: z.string(),
    scope: z.string(),
    scopeVersion: z.string(),
    startedAt: Time.nullable(),
    endedAt: Time.nullable(),
    startUnixNano: z.string(),
    durationMs: z.number(),
    status: z.enum(['unset', 'ok', 'error']),
    statusMessage: z.string(),
    attributes: Attributes,
    resourceAttributes: Attributes,
    events: z.array(z.object({ name: z.string(), at: Time.nullable(), attributes: Attributes })).readonly(),
    links: z.array(z.object({ traceId: z.string(), spanId: z.string(), attributes: Attributes })).readonly(),
    truncated: z.boolean().describe('True when texts were cut; the route of the span has them whole.'),
  })
  .openapi('Span');

const ComputedLine = z
  .object({
    tenant: z.string(),
    traceId: z.string(),
    rule: z.string(),
    scorer: z.string(),
    status: z.string(),
    reason: z.string(),
    nextAttemptAt: Time.nullable(),
    computed: z.literal(true).describe('Not stored: why there is no decision.'),
  })
  .openapi('ComputedDecision');

export const TraceDetail = z
  .object({
    tenant: z.string(),
    traceId: z.string(),
    state: z.enum(['waiting', 'scored', 'partly', 'not_scored']),
    reading: orNull(Reading).describe('Null when no span is stored any more.'),
    spans: z.array(SpanItem).readonly(),
    scores: z.array(ScoreItem).readonly(),
    decisions: z.array(z.union([DecisionItem, ComputedLine])).readonly(),
    joinedWith: z.array(z.string()).readonly().describe('Other traces of the same run.'),
    issues: z.array(IssueName).readonly().describe('Issues that its runs have.'),
  })
  .openapi('TraceDetail');

const traceList = createList('traces');

const TraceQuery = z.strictObject({ ...CURSOR_FIELDS, ...FILTER_FIELDS, ...TRACE_FIELDS });

const listTraces = describeRoute('get', '/traces', {
  tag: 'traces',
  summary: 'Traces of agents with their scores, newest first by their start.',
  request: {
    query: TraceQuery.extend({
      order: z
        .enum(['started', 'worst', 'arrived'])
        .default('started')
        .describe(
          'Two orders have at most 500 traces, without a cursor. `worst`: the worst scores first. `arrived`: the last arrived first, also traces without an agent; `since` is then the oldest arrival, and one `service` the only further filter.',
        ),
    }),
  },
  replies: { 200: describeJson('A page of traces.', describePage(TraceItem)) },
});

const FacetCounts = z.array(z.object({ value: z.string(), count: z.number() })).readonly();

export const TraceCounts = z
  .object({
    runs: z.number().describe('Number of the traces.'),
    buckets: z
      .array(
        z.object({
          at: Time.nullable(),
          runs: z.number(),
          errors: z.number().describe('Runs with a tool call that failed.'),
        }),
      )
      .readonly()
      .describe('Hours with traces of a range up to 3 days, else days; none without `since`.'),
    ...(Object.fromEntries(TRACE_FACETS.map((facet) => [facet, FacetCounts])) as Record<
      (typeof TRACE_FACETS)[number],
      typeof FacetCounts
    >),
  })
  .openapi('TraceFacets');

const listFacets = describeRoute('get', '/traces/facets', {
  tag: 'traces',
  summary: 'Numbers of read traces by the values of filters, the greatest first.',
  description:
    '`scorer` and `notScored` are counted in the newest 10,000 traces. A facet has 100 values at most.',
  request: {
    query: z.strictObject({
      ...FILTER_FIELDS,
      ...TRACE_FIELDS,
      of: anyOf(z.enum(TRACE_FACETS), 'Facet to count. Without it, all are counted.'),
    }),
  },
  replies: { 200: describeJson('The counts.', TraceCounts) },
});

const readTrace = describeRoute('get', '/traces/{traceId}', {
  tag: 'traces',
  summary: 'One trace: its reading, spans, scores and decisions.',
  request: {
    query: TenantQuery.extend({
      texts: z
        .enum(['cut', 'whole'])
        .default('cut')
        .describe('`whole`: the texts of the reading are not cut, up to 8 MiB together.'),
    }),
    params: z.strictObject({ traceId: hexId(32) }),
  },
  replies: { 200: describeJson('The trace.', TraceDetail) },
});

/** Route of the button "Send a sample trace" on Welcome: the page has no token that may send spans, and a receiver may be another process. */
const storeSample = describeRoute('post', '/traces/sample', {
  tag: 'traces',
  summary: 'Stores a made trace of an agent, so that the way to its scores is seen.',
  description: 'A write without a body: it needs the header `content-type: application/json` all the same.',
  request: { query: NoQuery },
  replies: { 201: describeJson('The id.', z.object({ traceId: z.string() })) },
});

const readSpan = describeRoute('get', '/traces/{traceId}/spans/{spanId}', {
  tag: 'traces',
  summary: 'One span whole.',
  request: { query: TenantQuery, params: z.strictObject({ traceId: hexId(32), spanId: hexId(16) }) },
  replies: { 200: describeJson('The span.', SpanItem) },
});

export function createTraceRoutes() {
  return createRouter()
    .openapi(listTraces, async (c) => {
      const { traces, nowMs } = tenantStore(c.var);
      const { order, ...query } = c.req.valid('query');
      const { filters, page } = traceList.readQuery(query, await nowMs());
      if (order === 'worst') {
        refuseCursor(order, query);
        const items = await traces.listWorst(filters, page.limit);
        return c.json({ items: items.map(traceJson), next: null }, 200);
      }
      if (order === 'arrived') {
        refuseCursor(order, query);
        const items = await traces.listArrived(readArrived(query, filters.sinceMs), page.limit);
        return c.json({ items: items.map(arrivedJson), next: null }, 200);
      }
      return c.json(traceList.toReply(await traces.list(filters, page), traceJson), 200);
    })
    .openapi(listFacets, async (c) => {
      const { traces, nowMs } = tenantStore(c.var);
      const { of = TRACE_FACETS, ...query } = c.req.valid('query');
      const { filters } = traceList.readQuery({ ...query, limit: 1 }, await nowMs());
      const { facets, runs, buckets } = await traces.facets(filters, of);
      const overTime = buckets.map(({ startMs, ...counts }) => ({ at: isoTime(startMs), ...counts }));
      return c.json({ runs, ...facets, buckets: overTime }, 200);
    })
    .openapi(storeSample, async (c) => {
      const { traces } = await tenantStore(c.var).openWrites('trace.sample');
      return c.json({ traceId: await traces.sample() }, 201);
    })
    .openapi(readTrace, async (c) => {
      const { traces } = tenantStore(c.var);
      const { texts, ...query } = c.req.valid('query');
      const asked = { ...c.req.valid('param'), ...query };
      return readWhole(async () => c.json(traceViewJson(await traces.read(asked), texts), 200));
    })
    .openapi(readSpan, async (c) => {
      const { traces } = tenantStore(c.var);
      const asked = { ...c.req.valid('param'), ...c.req.valid('query') };
      const span = await readWhole(() => traces.readSpan(asked));
      return c.json({ ...spanJson(span), truncated: false }, 200);
    });
}

/** Reads the filters of the order `arrived`. Throws an `InvalidInputError` for one that it does not know. */
function readArrived(query: z.output<typeof TraceQuery>, sinceMs: number | undefined) {
  const { service } = query;
  const taken = ['since', 'limit', 'service'];
  const further = Object.entries(query).find(
    ([name, value]) => value !== undefined && !taken.includes(name),
  )?.[0];
  if (further !== undefined || (service?.length ?? 0) > 1) {
    throw new InvalidInputError(
      `${further ?? 'service'}: order=arrived takes since, limit and one service; leave the rest out, or leave out order`,
    );
  }
  return { sinceMs, service: service?.[0] };
}

/** Formats a whole trace as JSON. Big texts are cut; `whole` leaves the texts of the reading uncut. */
function traceViewJson(
  { key, reading, spans, scores, decisions, computed, joinedWith, nowMs, issues }: TraceView,
  texts: 'cut' | 'whole',
) {
  const cutter = createTextCutter();
  const counts = Object.entries(Object.groupBy(decisions, ({ status }) => status));
  const ofReading = texts === 'whole' ? createTextCutter(MAX_TEXTS) : cutter;
  const cut = reading === null ? null : ofReading.cut(reading);
  return {
    tenant: key.tenant,
    traceId: key.traceId,
    state: deriveState(
      Object.fromEntries(counts.map(([status, rows]) => [status, rows.length])),
      scores.length,
    ),
    reading: cut === null ? null : { ...cut.value, truncated: cut.truncated },
    spans: spans.map((span) => cutSpanJson(span, cutter)),
    scores: scores.map(scoreJson),
    decisions: [...decisions.map((decision) => decisionJson(decision, nowMs)), ...computed.map(computedJson)],
    joinedWith,
    issues,
  };
}

function cutSpanJson(span: StepSpan, cutter: TextCutter) {
  const { value, truncated } = cutter.cut(spanJson(span));
  return { ...value, truncated };
}

/** States of a trace: `partly` has scores, and decisions that failed or wait for another attempt. */
export const TRACE_STATES = ['waiting', 'scored', 'partly', 'not_scored'] as const;
export type TraceState = (typeof TRACE_STATES)[number];

/** Derives the state of a trace from its current decisions and its number of scores. */
export function deriveState(
  { scored = 0, deferred = 0, failed = 0, ...others }: StatusCounts,
  scores: number,
): TraceState {
  if (scored > 0 || scores > 0) {
    return deferred > 0 || failed > 0 ? 'partly' : 'scored';
  }
  const isDecided = failed > 0 || Object.keys(others).length > 0;
  return deferred > 0 || !isDecided ? 'waiting' : 'not_scored';
}

/** Formats a trace of a list as JSON; times in ISO 8601. Facts that are not known are null. */
export function traceJson({ tenant, traceId, startedAtMs, run, decisions, ...rest }: CompleteTrace) {
  return {
    tenant,
    traceId,
    ...runJson(run ?? { startedAt: startedAtMs }),
    scores: rest.scores,
    finding: rest.finding,
    notScored: rest.notScored,
    decisions,
    state: deriveState(decisions, rest.scores.length),
  };
}

/** Formats a trace with the facts of its arrival. A trace without an agent waits for nothing. */
function arrivedJson(trace: Omit<TraceSummary, 'scores'> & CompleteTrace) {
  const isLeft = !trace.agentSeen && trace.run === null && Object.keys(trace.decisions).length === 0;
  return {
    ...traceJson(trace),
    ...(isLeft ? { state: 'not_scored' as const } : {}),
    ...pick(Arrival.shape, trace),
    firstArrival: isoTime(trace.firstArrivalMs),
    lastArrival: isoTime(trace.lastArrivalMs),
  };
}

const NO_NUMBERS = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  reasoningTokens: null,
  cachedInputTokens: null,
  costUsd: null,
  toolCalls: null,
  toolErrors: null,
};

/** Formats the run of a trace; without one, all but its start is null. */
function runJson(known: Partial<RunRecord>) {
  const run = { startedAt: Number.NaN, durationMs: null, models: [], tools: [], ...NO_NUMBERS, ...known };
  const { startedAt, durationMs, models, tools, costUsd, toolCalls, toolErrors } = run;
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens } = run;
  return {
    spanId: run.spanId || null,
    sessionId: run.sessionId || null,
    userId: run.userId || null,
    agent: run.agent || null,
    agentVersion: run.agentVersion || null,
    service: run.serviceName || null,
    serviceVersion: run.serviceVersion || null,
    environment: run.environment || null,
    startedAt: isoTime(startedAt),
    endedAt: isoTime(startedAt + (durationMs ?? Number.NaN)),
    durationMs,
    status: run.status || null,
    errorType: run.errorType || null,
    models,
    usage: { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens },
    costUsd,
    toolCalls,
    toolErrors,
    tools,
    question: run.question || null,
    answer: run.answer || null,
  };
}

/** Formats a span as JSON; times in ISO 8601. */
export function spanJson({ span, kind }: StepSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind,
    spanKind: span.kind,
    service: span.serviceName,
    scope: span.scopeName,
    scopeVersion: span.scopeVersion,
    startedAt: nanoTime(span.startUnixNano),
    endedAt: nanoTime(span.startUnixNano + span.durationNano),
    startUnixNano: span.startUnixNano.toString(),
    durationMs: Number(span.durationNano) / 1e6,
    status: STATUSES[span.statusCode],
    statusMessage: span.statusMessage,
    attributes: toRecord(span.attributes),
    resourceAttributes: toRecord(span.resourceAttributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      at: nanoTime(timeUnixNano),
      attributes: toRecord(attributes),
    })),
    links: span.links.map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: toRecord(attributes),
    })),
  };
}

const STATUSES = { Unset: 'unset', Ok: 'ok', Error: 'error' } as const;

function toRecord(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(attributes);
}

function nanoTime(unixNano: bigint): string | null {
  return isoTime(Number(unixNano / 1_000_000n));
}
