import type { z } from 'zod';
import { ConfigError } from '../../domain/errors.ts';
import { environment } from '../environment.ts';
import { resolveReferences } from '../environment-references.ts';
import type { ConfigIssue } from '../faults/config-issue.ts';
import { parseLeniently } from '../faults/lenient-parse.ts';
import type { JsonSchemaNode } from '../json-schema.ts';
import { readConfigFile } from './config-file.ts';

/** File beside the configuration, with its usable values. */
export interface CheckedFile<T> {
  readonly value: T | undefined;
  /** All faults, each with its line. */
  readonly issues: readonly ConfigIssue[];
}

/**
 * Reads a file beside the configuration (YAML, JSON or a module), replaces `${env:…}`, and checks it against its schema.
 * @param crossCheck finds faults between keys
 */
export async function readCheckedFile<Schema extends z.ZodType>(
  path: string,
  schemas: { readonly schema: Schema; readonly jsonSchema: JsonSchemaNode },
  crossCheck: (value: z.infer<Schema>) => readonly ConfigIssue[] = () => [],
): Promise<CheckedFile<z.infer<Schema>>> {
  const file = await readConfigFile(path).catch((error: unknown) => {
    if (error instanceof ConfigError) {
      return error;
    }
    throw error;
  });
  if (file instanceof ConfigError) {
    const origin = { kind: 'file', where: '', file: path } as const;
    return { value: undefined, issues: [{ path: [], message: file.message, origin }] };
  }
  const variables = environment();
  const resolved = resolveReferences(file.value, (name) => variables[name] || undefined);
  const parse = parseLeniently(
    resolved.value,
    schemas,
    resolved.issues.map((issue) => issue.path),
  );
  const concluded = (parse.parsed === undefined ? [] : crossCheck(parse.parsed))
    .map((issue) => ({ ...issue, path: parse.writtenPath(issue.path) }))
    .filter(({ path: at }) => parse.isSound([at]));
  const readable = file.brokenFrom === undefined ? [...resolved.issues, ...parse.issues, ...concluded] : [];
  return {
    value: parse.parsed,
    issues: [...file.issues, ...readable.map((issue) => ({ ...issue, origin: file.findOrigin(issue.path) }))],
  };
}
