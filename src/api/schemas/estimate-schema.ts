import { z } from '@hono/zod-openapi';

const usd = z.number().nullable();

const callFields = {
  judgeCalls: z.int().describe('Expected judge calls.'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  costUsd: usd.describe('Expected cost in US dollars; null when a judge has no price.'),
  costLow: usd.describe('Lower end of the interval in which about 95 of 100 real costs lie.'),
  costHigh: usd.describe('Upper end of that interval.'),
  basis: z
    .enum(['stored_calls', 'declared_lengths', 'mixed', 'none'])
    .describe(
      'Source of the lengths of replies and of later questions: stored calls of the same scorer and judge, or declared lengths. `none`: no call is expected.',
    ),
};

const estimateFields = {
  ...callFields,
  seconds: z.int().describe('Time at the configured limits.'),
  prompts: z.int().describe('Prompts that were really rendered.'),
  scorers: z
    .array(
      z.object({
        rule: z.string(),
        scorer: z.string(),
        judges: z.array(z.string()).readonly(),
        targets: z.int().describe('Traces and sessions on which it would run.'),
        rendered: z.int().describe('Targets of which the first question was rendered.'),
        ...callFields,
      }),
    )
    .readonly()
    .describe('Scorers that may ask a judge.'),
  unscored: z
    .record(z.string(), z.int())
    .describe('Expected pairs that give no score, by the code of the reason; scaled from the sample.'),
  unpriced: z.array(z.string()).readonly().describe('Judges without a price.'),
  unknown: z
    .array(z.string())
    .readonly()
    .describe('Own scorers that may ask a judge, of which no call is stored: they are not in the estimate.'),
};

/** Estimated calls, tokens and cost of judges. */
export const Estimate = z.object(estimateFields).openapi('Estimate');

/** Estimated calls, tokens, cost and time of a backfill. */
export const BackfillEstimate = z
  .object({
    ...estimateFields,
    isComplete: z
      .boolean()
      .describe('False: there was no time to list all targets, so that all numbers are too small.'),
  })
  .openapi('BackfillEstimate');
