import { z } from '@hono/zod-openapi';

/** Schema of an id of some hex digits, in any case. */
export function hexId(digits: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), { error: `write ${digits} hex digits` })
    .transform((id) => id.toLowerCase());
}

/** Parameters of a path with the id of a score, in any case. */
export const ScoreParams = z.strictObject({ scoreId: z.guid().transform((id) => id.toLowerCase()) });

/** Parameters of a write on a thing whose id several tenants may have. */
export const TenantQuery = z
  .strictObject({
    tenant: z.string().optional().describe('Tenant of the data, where several have the same id.'),
  })
  .openapi('TenantQuery');

interface GivenTarget {
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Adds the checks that a body names a trace or a session, and that a span has its trace. */
export function checkTarget<Schema extends z.ZodType<GivenTarget>>(schema: Schema): Schema {
  return schema
    .refine(({ traceId, sessionId }) => traceId !== undefined || sessionId !== undefined, {
      path: ['traceId'],
      error: 'is required: name the trace, or a session with sessionId',
    })
    .refine(({ traceId, spanId }) => traceId !== undefined || spanId === undefined, {
      path: ['traceId'],
      error: 'is required: a span belongs to a trace',
    })
    .openapi({ anyOf: [{ required: ['traceId'] }, { required: ['sessionId'] }] });
}
