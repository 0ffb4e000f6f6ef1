import { z } from '@hono/zod-openapi';
import type { Rule } from '../../config/index.ts';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { Time } from '../resources/series-schema.ts';
import { BUDGET_FIELDS } from './budget-fields.ts';

/** Schema of a configured scorer. */
export const ScorerItem = z
  .object({
    scorer: z.string(),
    use: z.string().nullable().describe('Prebuilt scorer; null for a module.'),
    module: z.string().nullable(),
    kind: z.enum(['code', 'judge', 'own']),
    version: z.string().nullable(),
    judge: z.string().nullable(),
    fingerprint: z.string().nullable(),
    higherIsBetter: z.boolean().nullable(),
    scoreMin: z.number().nullable(),
    scoreMax: z.number().nullable(),
    rows: z.array(z.string()).readonly().describe('Names of its score rows.'),
    rules: z.array(z.string()).readonly().describe('Rules that use it.'),
    activeFrom: Time.nullable().describe('In force since then; null for a scorer of no rule.'),
  })
  .openapi('Scorer');

/** Schema of a part of the configuration, whose own schema has checked it. */
function describeConfigured<Value>() {
  return z.looseObject({}) as unknown as z.ZodType<Value>;
}

/** Schema of a rule. */
export const RuleItem = z
  .object({
    rule: z.string(),
    version: z.string().nullable(),
    activeFrom: Time.nullable().describe('In force since then; null before a scorer process has loaded it.'),
    target: z.enum(TARGET_KINDS),
    scorers: z.array(z.string()).readonly(),
    where: describeConfigured<NonNullable<Rule['where']>>().describe('Conditions as they are configured.'),
    sample: describeConfigured<Rule['sample']>().describe('Sampling as it is configured.'),
    budget: describeConfigured<NonNullable<Rule['budget']>>().nullable(),
    versions: z
      .array(z.object({ version: z.string(), activeFrom: Time.nullable(), rate: z.number() }))
      .readonly()
      .describe('All versions, the newest first.'),
    decisions: z
      .object({ since: Time.nullable(), scored: z.number(), eligible: z.number() })
      .describe('Counts of the last 24 hours.'),
  })
  .openapi('Rule');

const CallCounts = {
  calls: z.number(),
  failed: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
  latencyP50Ms: z.number().nullable(),
  latencyP95Ms: z.number().nullable(),
};

const JudgeItem = z
  .object({
    judge: z.string().describe('`provider/model`.'),
    ...CallCounts,
    failures: z.record(z.string(), z.number()).describe('Failed calls by reason, also those whose reply could not be used.'),
    cacheHits: z.number().nullable().describe('Answers that needed no call; null in a process that scores nothing.'),
    breaker: z
      .enum(['closed', 'half_open', 'open'])
      .nullable()
      .describe('Null in a process that scores nothing.'),
    scorers: z.array(z.string()).readonly(),
    hours: z.array(z.object({ hour: Time.nullable(), ...CallCounts })).readonly(),
  })
  .openapi('Judge');

/** Schema of a cap of a budget. */
const Budget = z
  .object({
    ...BUDGET_FIELDS,
    reservedUsd: z.number().describe('Leased by running processes and not spent.'),
    leftUsd: z.number(),
  })
  .openapi('Budget');

/** Schema of the judges. */
export const JudgePage = z
  .object({
    items: z.array(JudgeItem).readonly(),
    next: z.null(),
    since: Time.nullable(),
    budgets: z.array(Budget).readonly(),
  })
  .openapi('Judges');
