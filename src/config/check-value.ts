import type { z } from 'zod';
import { InvalidInputError } from '../domain/errors.ts';
import { toJsonSchema } from './json-schema.ts';
import { showPath } from './key-path.ts';
import { listIssues, PARSE_TERMS } from './faults/schema-issues.ts';

/**
 * A value from outside by a schema, its faults told as those of a configuration are.
 * Throws `InvalidInputError` that names each fault and where it lies.
 */
export function checkValue<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value, PARSE_TERMS);
  if (!parsed.success) {
    const faults = listIssues(parsed.error, { schema: toJsonSchema(schema), value });
    throw new InvalidInputError(
      faults
        .map(({ path, message }) => (path.length === 0 ? message : `${showPath(path)}: ${message}`))
        .join('; '),
    );
  }
  return parsed.data;
}
