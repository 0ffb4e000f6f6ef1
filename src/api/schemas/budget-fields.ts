import { z } from '@hono/zod-openapi';
import { Time } from '../resources/series-schema.ts';

/** Fields of a cap of a budget. */
export const BUDGET_FIELDS = {
  scope: z.enum(['rule', 'tenant', 'total']),
  rule: z.string().nullable(),
  tenant: z.string().nullable(),
  period: z.enum(['day', 'month']),
  spentUsd: z.number(),
  capUsd: z.number(),
  renewsAt: Time.nullable(),
};
