import type { z } from 'zod';
import { InvalidInputError } from '../domain/errors.ts';
import { toJsonSchema } from './json-schema.ts';
import { showPath } from './key-path.ts';
import { listIssues, PARSE_TERMS } from './faults/schema-issues.ts';

/**
 * Checks a value from outside against a schema. Throws an `InvalidInputError` that names each fault and its path, in the
 * words of configuration faults; its details have them as `errors`, a list of paths and messages.
 */
export function checkValue<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value, PARSE_TERMS);
  if (!parsed.success) {
    const faults = listIssues(parsed.error, { schema: toJsonSchema(schema), value });
    const errors = faults.map(({ path, message }) => ({
      path: path.length === 0 ? '' : showPath(path),
      message,
    }));
    throw new InvalidInputError(
      errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '),
      { errors },
    );
  }
  return parsed.data;
}
