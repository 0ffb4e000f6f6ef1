import type { SchemaVerdict } from '../../judge/reply/judge-schema.ts';
import { isObject } from '../../domain/unknown-values.ts';

/**
 * One value of a judge's reply, defined once: what the judge is asked for, and how its answer is read. Members that are not read are
 * no fault: models add a confidence or a note that nobody asked for.
 */
export interface Member<T> {
  /** JSON Schema; undefined for a member that is read where a judge gives it, and not asked for. */
  readonly ask: object | undefined;
  /** Reads the value at a path of the reply. Refuses the reply when the value has the wrong type. Undefined is left out of the result. */
  readonly read: (value: unknown, path: string) => T;
  /** True for what explains the other members: it is asked for before them, and stands behind them in the result. */
  readonly explains?: boolean;
}

type Members = Readonly<Record<string, Member<unknown>>>;
type ValueOf<M> = M extends Member<infer T> ? T : never;
type OptionalIn<M extends Members> = {
  [K in keyof M]: undefined extends ValueOf<M[K]> ? K : never;
}[keyof M];

/** Result of reading an object with these members. */
type ReadingOf<M extends Members> = { [K in Exclude<keyof M, OptionalIn<M>>]: ValueOf<M[K]> } & {
  [K in OptionalIn<M>]?: Exclude<ValueOf<M[K]>, undefined>;
};

/** Most entries of one list; a longer list is the output of a judge that does not stop. */
const MAX_ENTRIES = 1000;

class ReplyFault extends Error {
  override readonly name = 'ReplyFault';
}

/** Schema of a whole reply, with the check that reads it; the first wrong member is the fault. */
export function replyForm<T>({ ask, read }: Member<T>): {
  readonly jsonSchema: object;
  validate(value: unknown): SchemaVerdict<T>;
} {
  return {
    jsonSchema: ask ?? {},
    validate: (value) => {
      try {
        return { ok: true, value: read(value, '') };
      } catch (error) {
        if (error instanceof ReplyFault) {
          return { ok: false, fault: error.message };
        }
        throw error;
      }
    },
  };
}

function plain<T>(ask: object, kind: string, fits: (value: unknown) => value is T): Member<T> {
  return {
    ask,
    read: (value, path) => {
      if (!fits(value)) {
        throw new ReplyFault(`the reply needs a field "${path}" that is ${kind}`);
      }
      return value;
    },
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFiniteNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);
const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.length <= MAX_ENTRIES;
const LIST_OF_OBJECTS = plain({}, 'a list of objects', (value): value is Entry[] =>
  isList(value) ? value.every((entry) => isObject(entry)) : false,
);

const TEXT = { type: 'string' };
const INTEGER = plain({ type: 'integer' }, 'a number', isFiniteNumber);

/** Kinds of members. */
export const member = {
  text: plain(TEXT, 'a text', isText),
  /** A text; '' for a blank one or any other value. */
  anyText: { ask: TEXT, read: (value) => readText(value) ?? '' } as Member<string>,
  /** A text that may be absent or blank. */
  textIfAny: { ask: TEXT, read: readText } as Member<string | undefined>,
  texts: plain({ type: 'array', items: TEXT }, 'a list of texts', (value): value is string[] =>
    isList(value) ? value.every(isText) : false,
  ),
  flag: plain({ type: 'boolean' }, 'true or false', (value) => typeof value === 'boolean'),
  integer: INTEGER,
  number: plain({ type: 'number' }, 'a number', isFiniteNumber),
  /** A number from 0 to 1, both included. */
  share: { ask: { type: 'number' }, read: readShare } as Member<number>,
  /** One of these words, whatever its case; `also` are words that are read and not asked for. */
  word: <T extends string>(allowed: readonly T[], also: readonly T[] = []): Member<T> => ({
    ask: { type: 'string', enum: allowed },
    read: (value, path) => readWord(value, path, { allowed, also }),
  }),
  /** An object with exactly these members, all of them required: constrained decoding needs this. */
  object: <M extends Members>(members: M): Member<ReadingOf<M>> => ({
    ask: askObject(members),
    read: (value, path) => readMembers(members, value, path),
  }),
  /** A list of objects with these members. */
  list: <M extends Members>(members: M): Member<ReadingOf<M>[]> => ({
    ask: { type: 'array', items: askObject(members) },
    read: (value, path) =>
      LIST_OF_OBJECTS.read(value, path).map((entry, at) => readMembers(members, entry, `${path}[${at}]`)),
  }),
  /**
   * A list with exactly one object for each numbered item, read in the order of the items. `about` returns what is known of an item
   * without the judge.
   */
  numbered: <M extends Members, About extends object = object>(
    numbering: Numbering,
    members: M,
    about: (index: number) => About = () => ({}) as About,
  ): Member<(About & ReadingOf<M>)[]> => {
    const { key = 'n', first = 1, mayBeEmpty = false, others } = numbering;
    return {
      ask: { type: 'array', items: askObject({ [key]: INTEGER, ...members }) },
      read: (value, path) => {
        const entries = LIST_OF_OBJECTS.read(value, path);
        const ordered = mayBeEmpty && entries.length === 0 ? [] : sortByNumber(entries, numbering);
        if (typeof ordered === 'string') {
          throw new ReplyFault(ordered);
        }
        return ordered.map((entry, at) => ({
          ...(others === undefined ? {} : copyOthers(entry, [...Object.keys(members), key, ...others])),
          ...about(at),
          ...readMembers(members, entry, `${path}[${key}=${at + first}]`),
        }));
      },
    };
  },
} as const;

/** Reads a member also where it is absent or null. */
export function ifGiven<T>({ ask, read }: Member<T>): Member<T | undefined> {
  return { ask, read: (value, path) => (isAbsent(value) ? undefined : read(value, path)) };
}

/** Reads a member that is not asked for. */
export function unasked<T>(of: Member<T>): Member<T> {
  return { ...of, ask: undefined };
}

/** Converts what a member reads. */
export function mapped<T, U>(of: Member<T>, convert: (value: T) => U): Member<U> {
  return { ...of, read: (value, path) => convert(of.read(value, path)) };
}

/** Reads the members of an object, and copies those that nobody asked for. */
export function withOthers<M extends Members>(members: M): Member<Entry & ReadingOf<M>> {
  return {
    ask: askObject(members),
    read: (value, path) => {
      const read = readMembers(members, value, path);
      return { ...copyOthers(value as Entry, Object.keys(members)), ...read };
    },
  };
}

function copyOthers(entry: Entry, names: readonly string[]): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function askObject(members: Members): object {
  const properties = Object.fromEntries(
    Object.entries(members).flatMap(([name, { ask }]) => (ask === undefined ? [] : [[name, ask]])),
  );
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function readMembers<M extends Members>(members: M, value: unknown, path: string): ReadingOf<M> {
  if (!isObject(value) || Array.isArray(value)) {
    throw new ReplyFault(path === '' ? 'the reply must be an object' : `"${path}" must be an object`);
  }
  const named = Object.entries(members);
  const ordered = [
    ...named.filter(([, { explains }]) => explains !== true),
    ...named.filter(([, { explains }]) => explains === true),
  ];
  const read = ordered.map(([name, { read: readMember }]) => {
    const found = Object.hasOwn(value, name) ? value[name] : undefined;
    return [name, readMember(found, path === '' ? name : `${path}.${name}`)] as const;
  });
  return Object.fromEntries(read.filter(([, found]) => found !== undefined)) as ReadingOf<M>;
}

function readText(value: unknown): string | undefined {
  return isText(value) && value.trim() !== '' ? value : undefined;
}

function readWord<T extends string>(
  found: unknown,
  path: string,
  { allowed, also }: { readonly allowed: readonly T[]; readonly also: readonly T[] },
): T {
  const said = typeof found === 'string' ? found.trim().toLowerCase() : undefined;
  const word = [...allowed, ...also].find((candidate) => candidate.toLowerCase() === said);
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

/** Numbering of a reply's entries. */
interface Numbering {
  readonly count: number;
  /** Field with the number. Default `n`. */
  readonly key?: string;
  /** The first number. Default 1. */
  readonly first?: 0 | 1;
  /** Name of the numbered things in error messages. Default `statement`. */
  readonly what?: string;
  /** True when an empty list is a reply, too: nothing was found. */
  readonly mayBeEmpty?: boolean | undefined;
  /** Present: members that nobody asked for are copied, too, but for the number and these. */
  readonly others?: readonly string[];
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
  const numbered = new Map<number, Entry>();
  for (const [index, entry] of entries.entries()) {
    const number = numbers[index];
    if (number === undefined || !(number >= first && number <= last)) {
      return `${JSON.stringify(entry[key]) ?? 'nothing'} is not the number of a ${what}; they go from ${first} to ${last}`;
    }
    if (numbered.has(number)) {
      return `${what} ${number} has more than one verdict`;
    }
    numbered.set(number, entry);
  }
  const wanted = Array.from({ length: count }, (_, index) => index + first);
  const missing = wanted.filter((number) => !numbered.has(number));
  return missing.length === 0
    ? wanted.map((number) => numbered.get(number) ?? {})
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
