import { z } from 'zod';
import { duration, fromZeroToOne, wholeNumber } from './fields.ts';

export const DEFAULT_CATCH_UP = '3d';

/** Schema of live scoring: memory, and the order under a backlog. */
export const Scoring = z.strictObject({
  maxTracesInMemory: wholeNumber(
    'Most traces whose content is in memory at the same time. Further traces wait as ids.',
    { unit: 'traces', min: 10, max: 100_000 },
  ).default(2_000),
  newestShare: fromZeroToOne()
    .default(0.5)
    .describe(
      'Share of the judge calls that go to the newest traces while more traces wait than judges can score; the others go to the oldest.',
    )
    .meta({ unit: 'share' }),
  readByShape: z
    .boolean()
    .default(true)
    .describe(
      'Reads spans that no convention describes by the form of their values. With `false` they stay not understood.',
    ),
  catchUp: duration(
    'Age of a trace up to which it is scored later when a budget held it back. Beyond it, its decision is failed: budget_exhausted. Never more than store.retention.spans.',
    { min: '1h', max: '30d' },
  ).default(DEFAULT_CATCH_UP),
  catchUpOrder: z
    .enum(['newest-first', 'oldest-first'])
    .default('newest-first')
    .describe(
      'Order in which traces and sessions are scored that a budget held back, when it has money again.',
    ),
});

/** Schema of readiness: when a trace is complete enough to be scored. */
export const Readiness = z.strictObject({
  decisionWait: duration(
    'Time without new spans after which a trace is scored, once its root span has ended.',
  ).default('5s'),
  maxWait: duration('Age at which a trace is scored even if spans are missing.', {
    min: '1s',
  }).default('15m'),
  session: z
    .strictObject({
      idle: duration('Time without new turns after which a session is scored.', {
        min: '1s',
      }).default('30m'),
      maxAge: duration('Age at which a session is scored even if turns still come.', {
        min: '1s',
      }).default('24h'),
      rescores: z
        .int({ error: 'write a whole number' })
        .min(1, { error: 'must be at least 1' })
        .max(1440, { error: 'must be at most 1440' })
        .default(24)
        .describe('Most times that a session is scored within 24 hours.')
        .meta({ unit: 'times a day' }),
    })
    .prefault({})
    .describe('Conditions under which a session is scored, for rules with target: session.'),
});

const limit = (period: string) =>
  z
    .number()
    .positive({ error: 'must be above 0' })
    .describe(`Limit of the judge cost per ${period} (UTC).`)
    .meta({ unit: `USD a ${period}` });

/** Field for the limits of a budget: at least one of them. */
export function budgetCaps(description: string) {
  return z
    .strictObject({ perDay: limit('day').optional(), perMonth: limit('month').optional() })
    .refine(({ perDay, perMonth }) => perDay !== undefined || perMonth !== undefined, {
      error: 'needs a limit: perDay, perMonth or both, in USD',
    })
    .describe(description);
}

/** Schema of the budgets beside those of rules. */
export const Budgets = z.strictObject({
  total: budgetCaps('Limit of the judge cost of the whole installation.').optional(),
  tenants: z
    .record(z.string().min(1), budgetCaps('Limit of the judge cost of a tenant.'))
    .default({})
    .describe('Limits of the judge cost of tenants, by the name in auth.tokens.'),
});

/** Schema of issues: failures of runs, and their states. */
export const Issues = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('Notes the failures of the runs that are scored, and groups them to issues.'),
  name: z
    .enum(['none', 'judge'])
    .default('none')
    .describe(
      'Source of the titles of issues. none: they are made by rule, and no judge is asked. judge: judges.default writes one for each new issue, from masked words.',
    ),
  alertAbove: fromZeroToOne()
    .meta({ unit: 'share' })
    .nullable()
    .default(null)
    .describe('Share of runs from which the channels are told of a new issue. null: never.'),
  falseAlarmBudget: z
    .number()
    .positive({ error: 'must be above 0' })
    .default(1)
    .describe('False alarms that an agent may have in 30 days, over all its issues.')
    .meta({ unit: 'alarms in 30 days' }),
  interval: duration('Time between two decisions on the states of issues.', {
    min: '5s',
    max: '1h',
  }).default('1m'),
});
