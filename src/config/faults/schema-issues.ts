import type { z } from 'zod';
import type { JsonSchemaNode } from '../json-schema.ts';
import type { KeyPath } from '../key-path.ts';
import { valueAt } from '../key-path.ts';
import type { ConfigIssue } from './config-issue.ts';
import { unknownKey } from './unknown-keys.ts';
import { discriminatorFault, formatName, outOfBounds, shown, wrongType, wrongValue } from './value-words.ts';

/** Parse settings that give `listIssues` the input; messages of the schema itself come first. */
export const PARSE_TERMS: z.core.ParseContext<z.core.$ZodIssue> = { reportInput: true, error: outOfBounds };

/** Fault that the schema found. */
export interface SchemaIssue extends ConfigIssue {
  readonly kind: 'unknown' | 'missing' | 'value';
  /** For an unknown key: the paths that it may have been meant for. */
  readonly meant?: readonly KeyPath[];
}

/** The parsed value and its schema. */
interface Subject {
  readonly schema: JsonSchemaNode;
  readonly value: unknown;
}

/** Lists the faults that the schema found, in words for the author of the value. */
export function listIssues(error: z.ZodError, subject: Subject): SchemaIssue[] {
  return error.issues.flatMap((issue) => issuesFrom(issue, [], subject));
}

/**
 * Lists the issues of one Zod issue.
 * @param parent path of the value at which the issue's own path starts
 */
function issuesFrom(issue: z.core.$ZodIssue, parent: KeyPath, subject: Subject): SchemaIssue[] {
  const path = [...parent, ...toKeyPath(issue.path)];
  const { schema, value } = subject;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      kind: 'unknown',
      isAboutOneValue: true,
      path: [...path, key],
      ...unknownKey(key, path, {
        schema,
        value: valueAt(value, [...path, key]),
        group: valueAt(value, path),
      }),
    }));
  }
  if (issue.code === 'invalid_union' && issue.discriminator === undefined) {
    return unionIssues(issue, path, subject);
  }
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined;
  const given = valueAt(value, path);
  return [
    {
      kind: isMissing ? 'missing' : 'value',
      path,
      message: messageFor(issue, path, schema),
      isAboutOneValue: given !== undefined && typeof given !== 'object',
    },
  ];
}

function messageFor(issue: z.core.$ZodIssue, path: KeyPath, schema: JsonSchemaNode): string {
  if (issue.code === 'invalid_type') {
    return wrongType(issue, path, schema);
  }
  if (issue.code === 'invalid_value') {
    return wrongValue(issue);
  }
  if (issue.code === 'invalid_union') {
    return discriminatorFault(issue);
  }
  return issue.code === 'invalid_key'
    ? `the name cannot be used: ${issue.issues[0]?.message ?? issue.message}`
    : issue.message;
}

/** Returns the faults of the alternative whose type the value has, else the types that are allowed here. */
function unionIssues(issue: z.core.$ZodIssueInvalidUnion, path: KeyPath, subject: Subject): SchemaIssue[] {
  const ofItsType = issue.errors.find((inner) =>
    inner.every(({ code, path: at }) => at.length > 0 || code !== 'invalid_type'),
  );
  if (ofItsType !== undefined) {
    return ofItsType.flatMap((inner) => issuesFrom(inner, path, subject));
  }
  const expected = issue.errors
    .flat()
    .flatMap((inner) => (inner.code === 'invalid_type' ? [inner.expected] : []));
  const names = [...new Set(expected)].map(formatName).join(' or ');
  return issue.input === undefined
    ? [{ kind: 'missing', path, message: `missing; give ${names}` }]
    : [{ kind: 'value', path, message: `must be ${names}, not ${shown(issue.input)}` }];
}

function toKeyPath(path: readonly PropertyKey[]): KeyPath {
  return path.map((step) => (typeof step === 'number' ? step : String(step)));
}
