import { z } from '@hono/zod-openapi';
import { CALL_STATUSES } from '../../domain/call-status.ts';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { Time } from '../resources/series-schema.ts';

const Target = z.enum(TARGET_KINDS).describe('Kind of the thing that the score is about.');
const Stratum = z.enum(['uniform', 'priority', 'backfill', 'none']);
const Count = z.number().nullable();

const Verdict = z
  .object({
    statement: z.string(),
    verdict: z.string(),
    reason: z.string().optional(),
    quote: z.string().optional().describe('Literal quote of the evidence.'),
    source: z
      .string()
      .optional()
      .describe('Kind of the evidence: system, user, turns, tool-results or documents.'),
    spanId: z.string().optional().describe('Span of the evidence.'),
  })
  .openapi('Verdict');

const ScoreColumns = {
  scoreId: z.string(),
  tenant: z.string(),
  traceId: z.string().describe("'' for a session."),
  spanId: z.string(),
  target: Target,
  targetId: z.string(),
  sessionId: z.string(),
  scorer: z.string(),
  scorerVersion: z.string(),
  fingerprint: z.string().describe('Changes with the scorer or its judge: another series.'),
  judgeModel: z.string(),
  promptVersion: z.string(),
  score: z.number(),
  label: z.string(),
  higherIsBetter: z.boolean().nullable(),
  scoreMin: z.number().nullable(),
  scoreMax: z.number().nullable(),
  reason: z.string(),
  serviceName: z.string(),
  serviceVersion: z.string(),
  agent: z.string(),
  agentVersion: z.string(),
  environment: z.string(),
  model: z.string(),
  userId: z.string(),
  traceTimestamp: Time.nullable().describe('Start of the run.'),
  scoredAt: Time.nullable(),
  inputTokens: Count,
  outputTokens: Count,
  costUsd: Count,
  durationMs: z.number(),
  redactions: z.number(),
  stratum: Stratum,
  inclusionProbability: z.number(),
  weight: z.number().nullable(),
  revision: z.number(),
  completeness: z.enum(['partial', 'complete']),
  source: z.enum(['live', 'backfill', 'human', 'api']),
  scoredBy: z.string().describe("Author of a posted score; '' for a score of spanscore."),
  evidenceHash: z.string(),
  evidenceUntil: Time.nullable(),
  day: z.string(),
  version: z.string(),
  isDeleted: z.boolean(),
};

/** Schema of a score row. */
export const ScoreItem = z
  .object({
    ...ScoreColumns,
    verdicts: z.array(Verdict).readonly(),
    judgeCalls: z.number().describe('Number of calls.'),
  })
  .openapi('Score');

const JudgeCall = z
  .object({
    step: z.string(),
    status: z
      .enum(CALL_STATUSES)
      .describe('`unusable`: the reply came, and is paid, but the scorer could not use it.'),
    model: z.string(),
    prompt: z.string(),
    reply: z.string(),
    error: z.string(),
    inputTokens: Count,
    outputTokens: Count,
    costUsd: Count,
    latencyMs: z.number(),
    calledAt: Time.nullable(),
  })
  .openapi('JudgeCall');

const PlacedVerdict = z.object({
  ...Verdict.shape,
  quote: z.string().nullable(),
  spanId: z.string().nullable(),
  messageIndex: z
    .int()
    .nullable()
    .describe('Message with the quote: position in `input.inputMessages` of the run, followed by `output`.'),
  partIndex: z.int().nullable().describe('Part of that message.'),
  start: z.int().nullable().describe("First character of the quote in the part's text."),
  end: z.int().nullable().describe('First character after the quote.'),
}).openapi('PlacedVerdict');

/** Schema of one score with its evidence. */
export const ScoreDetail = z
  .object({
    ...ScoreColumns,
    verdicts: z.array(PlacedVerdict).readonly(),
    judgeCalls: z.array(JudgeCall).readonly().describe('Calls of the judge, the oldest first.'),
  })
  .openapi('ScoreDetail');

/** Schema of a decision row. */
export const DecisionItem = z
  .object({
    tenant: z.string(),
    traceId: z.string(),
    target: Target,
    targetId: z.string(),
    rule: z.string(),
    scorer: z.string().describe('`*` for a decision on the whole rule.'),
    fingerprint: z.string(),
    agent: z.string().optional(),
    environment: z.string().optional(),
    readByShape: z
      .boolean()
      .optional()
      .describe('True when the run was read by the form of its values; absent otherwise.'),
    status: z.enum(['scored', 'filtered', 'sampled_out', 'not_applicable', 'deferred', 'failed']),
    reason: z.string().describe('A stable code, optionally followed by `: ` and a sentence.'),
    attempts: z.number(),
    nextAttemptAt: Time.nullable(),
    inclusionProbability: z.number(),
    weight: z.number().nullable(),
    stratum: Stratum,
    revision: z.number(),
    evidenceUntil: Time.nullable(),
    evidenceHash: z.string(),
    costUsd: z.number().nullable(),
    decidedAt: Time.nullable(),
  })
  .openapi('Decision');
