import type { SchemaVerdict } from '../../../judge/reply/judge-schema.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/**
 * Readers for the members of one object of a judge's reply. Each reader refuses the reply when the member has the wrong type.
 */
export interface ReplyFields {
  has(name: string): boolean;
  text(name: string): string;
  /** Reads a text that is not blank; undefined for any other value. */
  textIfAny(name: string): string | undefined;
  number(name: string): number;
  /** Reads a number from 0 to 1, both included. */
  share(name: string): number;
  flag(name: string): boolean;
  /** Reads one of these words, trimmed and lower-cased; `also` are words that are not asked for. */
  word<T extends string>(name: string, allowed: readonly T[], also?: readonly T[]): T;
  texts(name: string): string[];
  object(name: string): ReplyFields;
  objects(name: string): ReplyFields[];
  /** Reads exactly one object for each numbered item, in their order. */
  numbered(name: string, numbering: Numbering): ReplyFields[];
  /** Copies the members that have none of these names. */
  others(...names: readonly string[]): object;
}

/** Most entries of one list; a longer list is the output of a judge that does not stop. */
const MAX_ENTRIES = 1000;

class ReplyFault extends Error {
  override readonly name = 'ReplyFault';
}

/**
 * Creates a check of a judge's reply that reads it member by member; the first wrong member is the fault. Members that are not
 * read are no fault: models add a confidence or a note that nobody asked for.
 */
export function replyReader<T>(read: (reply: ReplyFields) => T): (value: unknown) => SchemaVerdict<T> {
  return (value) => {
    try {
      return { ok: true, value: read(readFields(value, '')) };
    } catch (error) {
      if (error instanceof ReplyFault) {
        return { ok: false, fault: error.message };
      }
      throw error;
    }
  };
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function readFields(value: unknown, path: string): ReplyFields {
  if (!isObject(value) || Array.isArray(value)) {
    throw new ReplyFault(path === '' ? 'the reply must be an object' : `"${path}" must be an object`);
  }
  const at = (name: string): string => joinPath(path, name);
  const member = (name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);
  const take = <T>(name: string, kind: string, fits: (found: unknown) => found is T): T => {
    const found = member(name);
    if (!fits(found)) {
      throw new ReplyFault(`the reply needs a field "${at(name)}" that is ${kind}`);
    }
    return found;
  };
  const objects = (name: string): Record<string, unknown>[] => take(name, 'a list of objects', isObjectList);
  return {
    has: (name) => member(name) !== undefined && member(name) !== null,
    text: (name) => take(name, 'a text', isText),
    textIfAny: (name) => {
      const found = member(name);
      return isText(found) && found.trim() !== '' ? found : undefined;
    },
    number: (name) => take(name, 'a number', isFiniteNumber),
    share: (name) => readShare(member(name), at(name)),
    flag: (name) => take(name, 'true or false', isFlag),
    word: (name, allowed, also = []) => readWord(member(name), at(name), { allowed, also }),
    texts: (name) => take(name, 'a list of texts', isTextList),
    object: (name) => readFields(member(name), at(name)),
    objects: (name) => objects(name).map((entry, index) => readFields(entry, `${at(name)}[${index}]`)),
    numbered: (name, numbering) => {
      const ordered = sortByNumber(objects(name), numbering);
      if (typeof ordered === 'string') {
        throw new ReplyFault(ordered);
      }
      const { key = 'n', first = 1 } = numbering;
      return ordered.map((entry, index) => readFields(entry, `${at(name)}[${key}=${index + first}]`));
    },
    others: (...names) => Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))),
  };
}

function readWord<T extends string>(
  found: unknown,
  path: string,
  { allowed, also }: { readonly allowed: readonly T[]; readonly also: readonly T[] },
): T {
  const said = typeof found === 'string' ? found.trim().toLowerCase() : undefined;
  const word = [...allowed, ...also].find((candidate) => candidate === said);
  if (word === undefined) {
    throw new ReplyFault(`"${path}" is ${JSON.stringify(found) ?? 'missing'}; use ${allowed.join(', ')}`);
  }
  return word;
}

function readShare(found: unknown, path: string): number {
  if (!isFiniteNumber(found) || found < 0 || found > 1) {
    throw new ReplyFault(`"${path}" is ${JSON.stringify(found) ?? 'missing'}; give a number from 0 to 1`);
  }
  return found;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_ENTRIES && value.every(isText);
}

function isObjectList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length <= MAX_ENTRIES && value.every((entry) => isObject(entry));
}

/** Numbering of a reply's entries. */
interface Numbering {
  readonly count: number;
  /** Field with the number. Default `n`. */
  readonly key?: string;
  /** The first number. Default 1. */
  readonly first?: 0 | 1;
  /** Name of the numbered things in error messages. Default `statement`. */
  readonly what?: string;
}

type Entry = Record<string, unknown>;

/**
 * Sorts the entries by their numbers, exactly one for each item; returns an error text when the numbers are wrong. Entries
 * without any numbers are read by position when their count is right.
 */
function sortByNumber(entries: readonly Entry[], numbering: Numbering): Entry[] | string {
  const { count, key = 'n', first = 1, what = 'statement' } = numbering;
  const numbers = entries.map((entry) => readNumber(entry[key]));
  if (numbers.every((number) => number === undefined)) {
    return entries.length === count ? [...entries] : `${entries.length} verdicts for ${count} ${what}s`;
  }
  const last = first + count - 1;
  const byNumber = new Map<number, Entry>();
  for (const [index, entry] of entries.entries()) {
    const number = numbers[index];
    if (number === undefined || !(number >= first && number <= last)) {
      return `${JSON.stringify(entry[key]) ?? 'nothing'} is not the number of a ${what}; they go from ${first} to ${last}`;
    }
    if (byNumber.has(number)) {
      return `${what} ${number} has more than one verdict`;
    }
    byNumber.set(number, entry);
  }
  const wanted = Array.from({ length: count }, (_, index) => index + first);
  const missing = wanted.filter((number) => !byNumber.has(number));
  return missing.length === 0
    ? wanted.map((number) => byNumber.get(number) ?? {})
    : `no verdict on ${missing.join(', ')}`;
}

/** Reads a whole number, also as digits in a text, which some models write. */
function readNumber(value: unknown): number | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : Number.NaN;
}
