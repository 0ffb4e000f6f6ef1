import type { z } from 'zod';
import { exampleAt, type JsonSchemaNode, knownKeysAt, schemaNodesAt } from '../json-schema.ts';
import type { KeyPath } from '../key-path.ts';
import { nearest } from '../../domain/nearest.ts';

/** Returns the message for a number, text or list that is too small or too large. */
export function outOfBounds(issue: z.core.$ZodRawIssue): string | undefined {
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
export function wrongType(
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
export function wrongValue({ input, values }: z.core.$ZodIssueInvalidValue): string {
  const names = values.map(String);
  const meant = typeof input === 'string' ? nearest(input, names) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return `must be ${names.join(' or ')}, not ${shown(input)}${hint}`;
}

/** Returns the message when the key that selects the alternative is missing or has an unknown value. */
export function discriminatorFault(issue: z.core.$ZodIssueInvalidUnion): string {
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

export function formatName(expected: string): string {
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
export function shown(value: unknown): string {
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
