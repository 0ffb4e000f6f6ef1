import { z } from '@hono/zod-openapi';
import { CALL_STATUSES } from '../../domain/run-record.ts';
import { DECISIONS } from '../../domain/decision.ts';
import { SCORES } from '../../domain/score.ts';
import { rowShape } from '../json/row-json.ts';
import { Time } from '../resources/series-schema.ts';

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

const { verdicts: _, judgeCalls, day, isDeleted, ...columns } = rowShape(SCORES);
const ScoreColumns = { ...columns, day, version: z.string(), isDeleted };

/** Schema of a score row. */
export const ScoreItem = z
  .object({ ...ScoreColumns, verdicts: z.array(Verdict).readonly(), judgeCalls })
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
export const DecisionItem = z.object(rowShape(DECISIONS)).openapi('Decision');
