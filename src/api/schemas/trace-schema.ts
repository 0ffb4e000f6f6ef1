import { z } from '@hono/zod-openapi';
import { DECISION_STATUSES } from '../../domain/decision.ts';
import { Time } from '../resources/series-schema.ts';
import { Reading, Usage } from './reading-schema.ts';
import { DecisionItem, ScoreItem } from './score-schema.ts';
import { orNull } from './or-null.ts';

const ScoreBrief = z
  .object({
    scoreId: z.string(),
    scorer: z.string(),
    score: z.number(),
    label: z.string(),
    higherIsBetter: z.boolean().nullable(),
    source: z.enum(['live', 'backfill', 'human', 'api']),
  })
  .openapi('ScoreBrief');

/** Schema of one trace of a list. */
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
    scores: z.array(ScoreBrief).readonly(),
    decisions: z.partialRecord(z.enum(DECISION_STATUSES), z.number()).describe('Decisions by status.'),
    state: z.enum(['waiting', 'scored', 'partly', 'not_scored']),
  })
  .openapi('Trace');

const Attributes = z.record(z.string(), z.string());

/** Schema of a span. */
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
    events: z
      .array(z.object({ name: z.string(), at: Time.nullable(), attributes: Attributes }))
      .readonly(),
    links: z
      .array(z.object({ traceId: z.string(), spanId: z.string(), attributes: Attributes }))
      .readonly(),
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

/** Schema of one trace. */
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
  })
  .openapi('TraceDetail');
