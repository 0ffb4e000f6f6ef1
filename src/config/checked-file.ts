import type { z } from 'zod';
import { readConfigFile } from './config-file.ts';
import { configErrorOf, type ConfigIssue } from './config-issue.ts';
import { environment } from './environment.ts';
import { resolveReferences } from './environment-references.ts';
import type { JsonSchemaNode } from './json-schema.ts';
import { issuesOf, PARSE_TERMS } from './schema-issues.ts';

/**
 * Reads a file beside the configuration (YAML, JSON or a module), with `${env:…}` replaced, by a schema of its own.
 * Throws a `ConfigError` that lists every fault with its line.
 * @param crossCheck what one key alone cannot show
 */
export async function readCheckedFile<Schema extends z.ZodType>(
  path: string,
  { schema, jsonSchema }: { readonly schema: Schema; readonly jsonSchema: JsonSchemaNode },
  crossCheck: (value: z.infer<Schema>) => readonly ConfigIssue[] = () => [],
): Promise<z.infer<Schema>> {
  const file = await readConfigFile(path);
  const variables = environment();
  const resolved = resolveReferences(file.value, (name) => variables[name] || undefined);
  const parsed = schema.safeParse(resolved.value, PARSE_TERMS);
  const issues = [
    ...resolved.issues,
    ...(parsed.success ? crossCheck(parsed.data) : issuesOf(parsed.error, jsonSchema)),
  ];
  if (!parsed.success || issues.length > 0) {
    throw configErrorOf(path, issues, (place) => ({ kind: 'file', where: file.placeOf(place) }));
  }
  return parsed.data;
}
