import type { z } from 'zod';
import { InvalidInputError } from '../../domain/errors.ts';
import { nearest } from '../../domain/nearest.ts';
import { exampleAt, type JsonSchemaNode, knownKeysAt, schemaNodesAt, toJsonSchema } from '../json-schema.ts';
import { type KeyPath, showPath, valueAt } from '../key-path.ts';
import type { ConfigIssue } from './config-issue.ts';
import { unknownKey } from './unknown-keys.ts';

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

/** Parse settings that give `listIssues` the input; messages of the schema itself come first. */
export const PARSE_TERMS: z.core.ParseContext<z.core.$ZodIssue> = { reportInput: true, error: outOfBounds };

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

/** Returns the message for a number, text or list that is too small or too large. */
function outOfBounds(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') {
    return undefined;
  }
  const least = issue.code === 'too_small';
  const bound = String(least ? issue.minimum : issue.maximum);
  if (issue.origin === 'number' || issue.origin === 'int') {
    const words = issue.inclusive ? ['at least', 'at most'] : ['more than', 'less than'];
    return `must be ${words[least ? 0 : 1] ?? ''} ${bound}, not ${shown(issue.input)}`;
  }
  const [one, many] = issue.origin === 'string' ? ['character', 'characters'] : ['entry', 'entries'];
  return `must have at ${least ? 'least' : 'most'} ${bound} ${bound === '1' ? one : many}`;
}

/** Returns the message for a value of the wrong type: the expected type, and the value that was probably meant. */
function wrongType(
  { input, expected, message }: z.core.$ZodIssueInvalidType,
  path: KeyPath,
  schema: JsonSchemaNode,
): string {
  const example = exampleAt(path, schema);
  const like = example === undefined || typeof example === 'object' ? '' : `, like ${shownPlain(example)}`;
  if (input === undefined) {
    return `missing; give ${formatName(expected)}${like}`;
  }
  if (input === null) {
    return `empty; give ${formatName(expected)}${like} or remove the key`;
  }
  // The field has its own words for this type.
  if (!message.startsWith('Invalid input')) {
    return message;
  }
  if (Number.isNaN(input)) {
    return `must be ${formatName(expected)}`;
  }
  const meant = guessValue(input, expected, schemaNodesAt(path, schema)[0]?.['unit']);
  const hint = meant === undefined ? keysHint(expected, path, schema) : `; write ${meant}`;
  return `must be ${formatName(expected)}, not ${shown(input)}${hint}`;
}

function keysHint(expected: string, path: KeyPath, schema: JsonSchemaNode): string {
  const keys = expected === 'object' ? knownKeysAt(path, schema).filter((key) => key !== '$schema') : [];
  return keys.length === 0 || keys.length > 12 ? '' : `; its keys are ${keys.join(', ')}`;
}

/** Guesses the value of the expected type that a value of another type probably means. */
function guessValue(input: unknown, expected: string, unit: unknown): string | undefined {
  if (expected === 'array') {
    return typeof input === 'object' ? '[{ … }], a list with - before each entry' : `[${shownPlain(input)}]`;
  }
  if (expected === 'string') {
    return ['number', 'boolean'].includes(typeof input) ? `"${String(input)}"` : undefined;
  }
  if (expected === 'boolean') {
    const word = String(input).toLowerCase();
    return ['yes', 'on', 'true', '1'].includes(word)
      ? 'true'
      : ['no', 'off', 'false', '0'].includes(word)
        ? 'false'
        : undefined;
  }
  return typeof input === 'string' && ['number', 'int'].includes(expected)
    ? guessNumber(input.trim(), typeof unit === 'string' ? unit : '')
    : undefined;
}

const BYTES: Readonly<Record<string, number>> = {
  b: 1,
  k: 1024,
  kb: 1000,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1000 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1000 ** 3,
  gib: 1024 ** 3,
};

function guessNumber(text: string, unit: string): string | undefined {
  const [, amount, suffix = ''] = /^([\d.,_]+)\s*(%|[a-z]*)$/i.exec(text) ?? [];
  const number = Number(amount?.replaceAll(/[,_]/g, ''));
  if (amount === undefined || !Number.isFinite(number)) {
    return undefined;
  }
  const factor =
    suffix === ''
      ? 1
      : suffix === '%' && unit.startsWith('share')
        ? 0.01
        : unit === 'bytes'
          ? BYTES[suffix.toLowerCase()]
          : undefined;
  return factor === undefined ? undefined : String(Number((number * factor).toPrecision(12)));
}

/** Returns the message for a value that is not among the allowed values. */
function wrongValue({ input, values }: z.core.$ZodIssueInvalidValue): string {
  const names = values.map(String);
  const meant = typeof input === 'string' ? nearest(input, names) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return `must be ${names.join(' or ')}, not ${shown(input)}${hint}`;
}

/** Returns the message when the key that selects the alternative is missing or has an unknown value. */
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

function formatName(expected: string): string {
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

/** Formats a value for messages: a text is quoted, a long value is shortened. */
function shown(value: unknown): string {
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (value !== null && typeof value === 'object') {
    return 'a group of keys';
  }
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function shownPlain(value: unknown): string {
  return typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : shown(value);
}
