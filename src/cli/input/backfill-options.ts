import { InvalidArgumentError } from 'commander';
import { parseRatePerSecond } from '../../config/index.ts';
import { parseNumber } from '../arguments.ts';

/** Checks a rate like `50/s`, `600/m` or `1000/h`. */
export function parseRate(text: string): string {
  if (parseRatePerSecond(text) === undefined) {
    throw new InvalidArgumentError('Write a number of traces and a time: 50/s, 600/m, 1000/h.');
  }
  return text;
}

/** Parses a share above 0 and at most 1. */
export function parseShare(text: string): number {
  const value = parseNumber(text);
  if (value <= 0 || value > 1) {
    throw new InvalidArgumentError('Write a number above 0 and at most 1.');
  }
  return value;
}

/** Parses an amount of money, with or without its unit. */
export function parseUsd(text: string): number {
  const value = parseNumber(text.replace(/usd$/i, '').replace('$', ''));
  if (value <= 0) {
    throw new InvalidArgumentError('Write a number of US dollars above 0.');
  }
  return value;
}

/**
 * Returns the option that a user wrote for a field of the API, or for a path in it: `--max-cost` for `maxCostUsd`, `--where status` for
 * `where.status`.
 */
export function nameOption(path: string): string {
  const [field = '', ...rest] = path.split('.');
  const option = field === 'maxCostUsd' ? '--max-cost' : `--${field}`;
  return rest.length === 0 ? option : `${option} ${rest.join('.')}`;
}

/** Conditions of a rule as JSON: by name a list of values, or a group of conditions. */
export interface WrittenConditions {
  readonly [name: string]: readonly string[] | WrittenConditions;
}

/**
 * Collects conditions: `service=a`, `not.agent=b`, `attributes.tier=gold`, `duration.min=5s`. A repeated condition has several values.
 * The names are checked later, with the words of the configuration.
 */
export function collectConditions(text: string, previous: WrittenConditions = {}): WrittenConditions {
  const [, path = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path === '') {
    throw new InvalidArgumentError('Write a name and a value: service=checkout.');
  }
  return addCondition(previous, splitPath(path.trim()), value.trim());
}

/** Splits a path at its dots; the key of an attribute may have dots. */
function splitPath(path: string): string[] {
  const [head = '', ...rest] = path.split('.');
  const tail = rest.join('.');
  if (tail === '' || head === 'attributes') {
    return tail === '' ? [head] : [head, tail];
  }
  return [head, ...splitPath(tail)];
}

function addCondition(
  into: WrittenConditions,
  [name = '', ...rest]: readonly string[],
  value: string,
): WrittenConditions {
  const known = into[name];
  if (rest.length > 0) {
    const group = known === undefined || isValues(known) ? {} : known;
    return { ...into, [name]: addCondition(group, rest, value) };
  }
  return { ...into, [name]: [...(known !== undefined && isValues(known) ? known : []), value] };
}

function isValues(condition: readonly string[] | WrittenConditions): condition is readonly string[] {
  return Array.isArray(condition);
}

/** Conditions with one value are written as that value, as `status` and `duration` need it. */
export function writeConditions(conditions: WrittenConditions): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(conditions).map(([name, condition]) => [
      name,
      isValues(condition) ? (condition.length === 1 ? condition[0] : condition) : writeConditions(condition),
    ]),
  );
}
