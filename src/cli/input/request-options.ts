import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { checkValue } from '../../config/index.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import { collectNames, parseNumber } from '../arguments.ts';

/**
 * Adds the fields of a request to a command as options: names, help, limits and defaults come from its schema. The value of an option has
 * the name of its field.
 * @param words words for values, where that of the type is not the best: `when`
 */
export function addRequestOptions(
  command: Command,
  { shape }: { readonly shape: Readonly<Record<string, z.ZodType>> },
  words: Readonly<Record<string, string>> = {},
): Command {
  for (const [field, type] of Object.entries(shape)) {
    const option = buildOption(field, type, words[field]);
    option.attributeName = () => field;
    command.addOption(
      type instanceof z.ZodDefault
        ? option.default(type.def.defaultValue, String(type.def.defaultValue))
        : option,
    );
  }
  return command;
}

function buildOption(field: string, type: z.ZodType, word?: string): Option {
  const flag = nameOption(field);
  const inner = type instanceof z.ZodOptional || type instanceof z.ZodDefault ? type.unwrap() : type;
  const help = `${toHelp(type.description ?? '')}${inner === type ? ' (required)' : ''}`;
  if (inner instanceof z.ZodBoolean) {
    return new Option(flag, help);
  }
  if (inner instanceof z.ZodPipe) {
    return new Option(`${flag} <${word ?? 'names'}>`, `${help} (repeatable, or with commas)`).argParser(
      collectNames,
    );
  }
  if (inner instanceof z.ZodRecord) {
    const example = 'service=checkout, status=error, attributes.tier=gold, not.agent=test (repeatable)';
    return new Option(`${flag} <${word ?? 'condition'}>`, `${help}: ${example}`).argParser(collectConditions);
  }
  const isNumber = inner instanceof z.ZodNumber;
  const isMoney = field.endsWith(MONEY);
  return new Option(`${flag} <${word ?? (isMoney ? 'usd' : isNumber ? 'number' : 'text')}>`, help).argParser(
    (text) => {
      const value = isNumber ? parseNumber(isMoney ? text.replace(/^\$|usd$/giu, '') : text) : text;
      try {
        checkValue(type, value);
      } catch (error) {
        const fault = readErrorMessage(error);
        throw new InvalidArgumentError(`${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`);
      }
      return value;
    },
  );
}

/** Writes the description of a field as the help of an option. */
function toHelp(description: string): string {
  const text = description
    .replaceAll('`', '')
    .replace(/^True: /u, '')
    .replace('. Default:', '; default:')
    .replace(/\.$/u, '');
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

/** End of the names of fields with an amount of US dollars, which the option does not have. */
const MONEY = 'Usd';

/**
 * Returns the option for a field of the API, or for a path in it: `--max-cost` for `maxCostUsd`, `--where status` for `where.status`.
 */
export function nameOption(path: string): string {
  const [field = '', ...rest] = path.split('.');
  const name = (field.endsWith(MONEY) ? field.slice(0, -MONEY.length) : field).replaceAll(
    /[A-Z]/gu,
    (letter) => `-${letter.toLowerCase()}`,
  );
  return [`--${name}`, rest.join('.')].join(' ').trimEnd();
}

/** Conditions of a rule as JSON: by name a list of values, or a group of conditions. */
export interface WrittenConditions {
  readonly [name: string]: readonly string[] | WrittenConditions;
}

/**
 * Collects conditions: `service=a`, `not.agent=b`, `attributes.tier=gold`, `duration.min=5s`. A repeated condition has several values.
 * The names are checked later, with the words of the configuration.
 */
export function collectConditions(text: string, previous?: WrittenConditions): WrittenConditions {
  const [, path = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path === '') {
    throw new InvalidArgumentError('Write a name and a value: service=checkout.');
  }
  return addCondition(previous ?? {}, splitPath(path.trim()), value.trim());
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
