import type { z } from 'zod';
import type { ConfigIssue } from './config-issue.ts';
import { configJsonSchema, type JsonSchemaNode, knownKeysAt } from './json-schema.ts';
import { showPath, type KeyPath } from './key-path.ts';
import { nearest } from '../domain/nearest.ts';

/** How values are parsed so that `issuesOf` has words for what is wrong; a schema's own words come first. */
export const PARSE_TERMS: z.core.ParseContext<z.core.$ZodIssue> = { reportInput: true, error: outOfBounds };

/** What the schema found, in words for the person who wrote the file. */
export function issuesOf(error: z.ZodError, schema: JsonSchemaNode = configJsonSchema()): ConfigIssue[] {
  return error.issues.flatMap((issue) => issuesFrom(issue, pathOf(issue.path), schema));
}

function issuesFrom(issue: z.core.$ZodIssue, path: KeyPath, schema: JsonSchemaNode): ConfigIssue[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], message: unknownKey(key, path, schema) }));
  }
  return [{ path, message: messageFor(issue, schema) }];
}

function messageFor(issue: z.core.$ZodIssue, schema: JsonSchemaNode): string {
  if (issue.code === 'invalid_type') {
    return wrongType(issue);
  }
  if (issue.code === 'invalid_value') {
    return wrongValue(issue);
  }
  if (issue.code === 'invalid_union') {
    return unionFault(issue, schema);
  }
  if (issue.code === 'invalid_key') {
    return `the name cannot be used: ${issue.issues[0]?.message ?? issue.message}`;
  }
  return issue.message;
}

function unknownKey(key: string, path: KeyPath, schema: JsonSchemaNode): string {
  const known = knownKeysAt(path, schema).filter((name) => name !== '$schema');
  if (known.includes(key)) {
    return 'does not go with the other keys here; remove it';
  }
  const meant = nearest(key, known);
  if (meant !== undefined) {
    return `unknown key; did you mean ${meant}?`;
  }
  const place = path.length === 0 ? 'at the top' : `in ${showPath(path)}`;
  return `unknown key; known keys ${place}: ${known.join(', ')}`;
}

function wrongType(issue: z.core.$ZodIssueInvalidType): string {
  if (issue.input === undefined) {
    return `missing; give ${nameOf(issue.expected)}`;
  }
  if (issue.input === null) {
    return `empty; give ${nameOf(issue.expected)} or remove the key`;
  }
  return Number.isNaN(issue.input)
    ? `must be ${nameOf(issue.expected)}`
    : `must be ${nameOf(issue.expected)}, not ${shown(issue.input)}`;
}

function wrongValue(issue: z.core.$ZodIssueInvalidValue): string {
  const values = issue.values.map(String);
  const meant = typeof issue.input === 'string' ? nearest(issue.input, values) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return `must be ${values.join(' or ')}, not ${shown(issue.input)}${hint}`;
}

/** Numbers, texts and lists that are too small or too large. */
function outOfBounds(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') {
    return undefined;
  }
  const least = issue.code === 'too_small';
  const bound = String(least ? issue.minimum : issue.maximum);
  if (issue.origin === 'number') {
    const words = issue.inclusive ? ['at least', 'at most'] : ['more than', 'less than'];
    return `must be ${words[least ? 0 : 1] ?? ''} ${bound}, not ${shown(issue.input)}`;
  }
  const [one, many] = issue.origin === 'string' ? ['character', 'characters'] : ['entry', 'entries'];
  return `must have at ${least ? 'least' : 'most'} ${bound} ${bound === '1' ? one : many}`;
}

/** Alternatives: the fault of the one that got furthest, else what could stand here. */
function unionFault(issue: z.core.$ZodIssueInvalidUnion, schema: JsonSchemaNode): string {
  if (issue.discriminator !== undefined) {
    return discriminatorFault(issue);
  }
  const deeper = issue.errors.flat().find((inner) => inner.path.length > 0 || inner.code !== 'invalid_type');
  if (deeper !== undefined) {
    const [fault] = issuesFrom(deeper, pathOf(deeper.path), schema);
    const place = fault === undefined || fault.path.length === 0 ? '' : `${showPath(fault.path)}: `;
    return `${place}${fault?.message ?? deeper.message}`;
  }
  const expected = issue.errors
    .flat()
    .map((inner) => (inner.code === 'invalid_type' ? inner.expected : inner.code));
  return `must be ${[...new Set(expected)].map(nameOf).join(' or ')}, not ${shown(issue.input)}`;
}

/** The key that names the alternative is missing, or names none. */
function discriminatorFault(issue: z.core.$ZodIssueInvalidUnion): string {
  const key = issue.discriminator ?? '';
  const named =
    issue.input !== null && typeof issue.input === 'object' ? Reflect.get(issue.input, key) : undefined;
  const options = 'options' in issue ? (issue.options ?? []).map(String) : [];
  const meant = typeof named === 'string' ? nearest(named, options) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return named === undefined
    ? `missing; give ${key}: one of ${options.join(', ')}`
    : `must be ${options.join(' or ')}, not ${shown(named)}${hint}`;
}

function nameOf(expected: string): string {
  const names: Record<string, string> = {
    object: 'a group of keys',
    record: 'a group of keys',
    array: 'a list',
    tuple: 'a list',
    string: 'a text',
    number: 'a number',
    int: 'a whole number',
    boolean: 'true or false',
  };
  return names[expected] ?? expected;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? typeof value;
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (value !== null && typeof value === 'object') {
    return 'a group of keys';
  }
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function pathOf(path: readonly PropertyKey[]): KeyPath {
  return path.map((step) => (typeof step === 'number' ? step : String(step)));
}
