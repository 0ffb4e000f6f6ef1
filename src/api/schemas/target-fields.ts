import { z } from '@hono/zod-openapi';

/** Schema of an id of some hex digits, in any case. */
export function hexId(digits: number) {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), { error: `write ${digits} hex digits` })
    .transform((id) => id.toLowerCase());
}

/** Most characters of a name. */
const MAX_NAME = 200;

/** Pattern of a text that looks like what it is: without control characters, halves of surrogate pairs, and what nobody sees. */
const NAME = String.raw`^[^\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]*$`;

/** Schema of a name that a request gives to rows: of a scorer, an author, a reviewer. */
export const Name = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .refine((name) => new RegExp(NAME, 'u').test(name), {
    error: 'must have no control characters, no invisible ones and no half of a surrogate pair',
  })
  .openapi({ pattern: NAME });

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
