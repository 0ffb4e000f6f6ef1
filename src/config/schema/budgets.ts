import { z } from 'zod';

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
