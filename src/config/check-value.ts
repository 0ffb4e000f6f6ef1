import type { z } from 'zod';
import { InvalidInputError } from '../domain/errors.ts';
import { toJsonSchema } from './json-schema.ts';
import { showPath } from './key-path.ts';
import { listIssues, PARSE_TERMS } from './faults/schema-issues.ts';

/**
 * Checks a value from outside against a schema. Throws an `InvalidInputError` that names each fault and its path, in the
 * words of configuration faults.
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
