import { z } from '@hono/zod-openapi';
import { parseRatePerSecond } from '../../config/index.ts';
import { BackfillEstimate } from './estimate-schema.ts';
import { Time } from '../resources/series-schema.ts';

const share = z
  .number()
  .positive({ error: 'must be above 0' })
  .max(1, { error: 'must be at most 1' })
  .optional();
const names = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((given): readonly string[] => [given].flat())
  .optional();

/** Backfill that a request asks for. */
export const NewBackfill = z
  .strictObject({
    from: z.string().min(1).describe('Traces that began since `7d`, or a date and time.'),
    to: z.string().min(1).optional().describe('Traces that began before this time. Default: now.'),
    rule: names.describe('Rules. Default: all, unless scorers are named.'),
    scorer: names.describe('Scorers that run on every trace, instead of the rules.'),
    where: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Conditions, as in a rule of the configuration: on the traces for rules on traces and their parts, and on the turns of a session together for rules on sessions.',
      ),
    sample: share.describe('Part of the traces, instead of the samples of the rules.'),
    rate: z
      .string()
      .refine((text) => parseRatePerSecond(text) !== undefined, {
        error: 'write a number of traces and a time: 50/s, 600/m, 1000/h',
      })
      .optional()
      .describe('Most traces in a time: `50/s`, `600/m`.'),
    maxCostUsd: z.number().positive({ error: 'must be above 0' }).optional().describe('Most money for judges.'),
    concurrency: z.int().min(1).max(1_000).optional().describe('Traces whose scorers run at the same time.'),
    judgeShare: share.describe('Part of the places of judges. Default: 0.3 beside live scoring.'),
    rescore: z.boolean().optional().describe('True: scores of the same fingerprint are replaced.'),
    dryRun: z.boolean().optional().describe('True: only says what the backfill would do and cost.'),
  })
  .openapi('NewBackfill');

const reasons = z.record(z.string(), z.int());
const pairs = 'Pairs: one scorer of one rule on one target.';

/** Backfill as a job, or what one would do. */
export const Backfill = z
  .looseObject({
    id: z.string().describe("'' for a dry run."),
    tenant: z.string().describe("Tenant whose traces are scored; '' for all tenants."),
    status: z.enum(['queued', 'running', 'paused', 'done', 'failed', 'cancelled']),
    spec: z
      .record(z.string(), z.unknown())
      .describe('Range, conditions, rules with their fingerprints, and limits, as they were when it was made.'),
    createdAt: Time.nullable(),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    matched: z.int().describe('Traces.'),
    sessions: z.int().describe('Sessions, for rules on them.'),
    scored: z.int().describe(`${pairs} With a new score.`),
    skipped: reasons.describe(`${pairs} Without a new score, by reason.`),
    failed: reasons.describe(`${pairs} Whose scorer failed, by reason.`),
    remaining: z.int().describe(`${pairs} That are left, estimated.`),
    perSecond: z.number().nullable().describe('Pairs a second in the last half minute.'),
    etaSeconds: z.number().nullable(),
    costUsd: z.number(),
    maxCostUsd: z.number().nullable(),
    checkpoint: z.unknown().describe('Place from which it continues; null before the first.'),
    owner: z.string().describe("Process that ran it last; '' before the first."),
    error: z.string().nullable(),
    left: z.string().nullable().describe('Reason why a process left it to others.'),
    dryRun: z.literal(true).optional(),
    estimate: BackfillEstimate.optional().describe('Of a dry run: what the pairs of `remaining` would cost.'),
  })
  .openapi('Backfill');
