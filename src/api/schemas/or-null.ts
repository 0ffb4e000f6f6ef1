import { z } from '@hono/zod-openapi';

/** Schema of a value with a name in the OpenAPI document, or null. `nullable` would change the named schema itself. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.null()]);
}
