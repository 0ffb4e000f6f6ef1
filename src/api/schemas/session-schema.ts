import { z } from '@hono/zod-openapi';
import { Time } from '../resources/series-schema.ts';
import { DecisionItem, ScoreItem } from './score-schema.ts';
import { TraceItem } from './trace-schema.ts';

const SessionColumns = {
  tenant: z.string(),
  sessionId: z.string(),
  startedAt: Time.nullable().describe('Start of the first turn.'),
  lastTurnAt: Time.nullable().describe('Start of the last turn.'),
  turnCount: z.number(),
  userId: z.string().nullable(),
  agents: z.array(z.string()).readonly(),
  services: z.array(z.string()).readonly(),
  totalTokens: z.number().nullable(),
  costUsd: z.number().nullable(),
  scores: z.array(ScoreItem).readonly().describe('Scores of the whole session.'),
};

/** Schema of one session of a list. */
export const SessionItem = z.object(SessionColumns).openapi('Session');

/** Schema of one session with its turns. */
export const SessionDetail = z
  .object({
    ...SessionColumns,
    decisions: z.array(DecisionItem).readonly().describe('Decisions on the whole session.'),
    turns: z.array(TraceItem).readonly().describe('Turns with their scores, the oldest first.'),
    omittedTurns: z.number().describe('Oldest turns beyond the limit of 500.'),
  })
  .openapi('SessionDetail');
