import { z } from '@hono/zod-openapi';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { Moment } from '../lists/filters.ts';
import { Time } from '../resources/series-schema.ts';
import { orNull } from './or-null.ts';
import { Run } from './reading-schema.ts';
import { ScoreItem } from './score-schema.ts';
import { ScoreValue } from './score-value.ts';
import { checkTarget, hexId, Name } from './target-fields.ts';

/** Most characters of a session id and of a label. */
const MAX_TEXT = 1_000;

/** Most characters of a note. */
const MAX_NOTE = 100_000;

/** Most items of a queue, and the usual number. Each comes with its content. */
const QUEUE_ITEMS = { most: 20, usual: 5 };

/** Orders in which a reviewer gets targets. */
const STRATEGIES = ['stratified'] as const;

/** Parameters of the reads of labels. */
export const LABEL_FIELDS = {
  scorer: Name.describe('Name of the score rows to check.'),
  since: Moment.default('30d').describe('Oldest start: `24h`, or a date and time.'),
};

/** Schema of the parameters of a queue. */
export const QueueQuery = z.strictObject({
  ...LABEL_FIELDS,
  strategy: z
    .enum(STRATEGIES)
    .default('stratified')
    .describe('`stratified`: as many targets of each label of the scorer and each fifth of its range.'),
  reviewer: Name.optional().describe('Default: the name of the token.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(QUEUE_ITEMS.most)
    .default(QUEUE_ITEMS.usual)
    .describe('Most items.'),
});

const LabelItem = z
  .object({
    tenant: z.string(),
    target: z.enum(TARGET_KINDS).describe('Kind of the thing to label.'),
    targetId: z.string(),
    traceId: z.string().describe("'' for a session."),
    spanId: z.string().describe("Send it with the label; '' for the whole run, and for a session."),
    sessionId: z.string(),
    agent: z.string(),
    service: z.string(),
    environment: z.string(),
    startedAt: Time.nullable().describe('Start of the run.'),
    run: orNull(Run).describe('What to read. Null for a session, and when no span is stored any more.'),
  })
  .openapi('LabelItem');

/** Schema of a reviewer's queue. It has neither scores nor reasons of the scorer. */
export const LabelQueue = z
  .object({
    scorer: z.string(),
    strategy: z.enum(STRATEGIES),
    reviewer: z.string(),
    day: z.string().describe('UTC day. The order is the same for a reviewer during a day.'),
    higherIsBetter: z.boolean().nullable(),
    scoreMin: z.number().nullable(),
    scoreMax: z.number().nullable(),
    labelled: z.number().describe('Targets of the range that the reviewer has labelled.'),
    left: z.number().describe('Targets of the range without a label of the reviewer, these items included.'),
    items: z.array(LabelItem).readonly(),
  })
  .openapi('LabelQueue');

/** Schema of a label. */
export const NewLabel = checkTarget(
  z.strictObject({
    traceId: hexId(32)
      .optional()
      .describe('Required, unless `sessionId` is given: then the label is about the session.'),
    spanId: hexId(16).optional().describe('Absent: the label is about the whole run.'),
    sessionId: z.string().min(1).max(MAX_TEXT).optional(),
    scorer: Name,
    passes: z
      .boolean()
      .optional()
      .describe('True stores the best score of the range of the scorer, false the worst one.'),
    score: ScoreValue.optional().describe('Score within the range of the scorer, in place of `passes`.'),
    label: z.string().max(MAX_TEXT).default(''),
    note: z.string().max(MAX_NOTE).default('').describe('Stored as the reason of the score.'),
    reviewer: Name.optional().describe('Default: the name of the token. The name of another token needs the scope admin.'),
  }),
)
  .refine(({ passes, score }) => (passes === undefined) !== (score === undefined), {
    path: ['score'],
    error: 'give either passes or score',
  })
  .openapi('NewLabel');

/** Schema of the reply to a label: now the reviewer may see the scores of the scorer. */
export const StoredLabel = z
  .object({
    scoreId: z.string().describe('Id of the label: a score with the source `human`.'),
    reviewer: z.string(),
    score: z.number(),
    agrees: z
      .boolean()
      .nullable()
      .describe('Whether the newest score of the scorer passes as the label does; null without such a score.'),
    scores: z.array(ScoreItem).readonly().describe('Scores of the scorer on this target, newest first.'),
  })
  .openapi('StoredLabel');
