import type { Attributes, LogRecord, Span } from '../../domain/trace/span.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { type Fields, parseStructure, parseValue, recordsIn } from '../json.ts';
import { readPrinted, readPrintedObject } from '../messages/printed-items.ts';
import { remembered, wordsOf } from './words.ts';

/** A value of a span, an event or a log record, with the words of its name. */
export interface Carrier {
  /** Source of the value, in the syntax of a mapping. */
  readonly source: string;
  readonly words: readonly string[];
  /** The text as it was sent; undefined for an object that was put together from several keys. */
  readonly text: string | undefined;
  readonly value: unknown;
}

/** A span event or log record. */
export interface Moment {
  readonly name: string;
  readonly words: readonly string[];
  readonly carriers: readonly Carrier[];
}

/** Most keys of one span, and most events and records of it, that are looked at. */
const MAX_KEYS = 1_000;
const MAX_MOMENTS = 500;

/** Keys of OpenTelemetry's conventions for everything that is no agent. */
const INFRASTRUCTURE =
  /^(https?|db|url|net|network|server|client|peer|source|destination|rpc|messaging|code|thread|os|host|process|telemetry|exception|k8s|cloud|container|faas|user_agent|tls|dns|otel|service|error|browser|aws|feature_flag)[._]/;

/** Keys of a protocol, a database or a queue: a span with one needs more than a name to be a step of an agent. */
const PROTOCOL = /^(https?|db|url|net|network|server|client|peer|rpc|messaging|faas|tls|dns|aws)[._]/;

export const isProtocol = remembered((key): boolean => PROTOCOL.test(key));

/** Returns true for a key that says nothing of an agent. */
export const isInfrastructure = remembered(
  (key): boolean => INFRASTRUCTURE.test(key) && key !== 'error.message',
);

export function listCarriers({ attributes }: Span, isRead: KeyFilter): Carrier[] {
  return carriersIn(attributes, '', [], isRead);
}

type KeyFilter = (key: string) => boolean;

/** Name of a value before it, on a line of its own. */
const LABEL = /^[\w ]{1,60}:\s*\n(?=[[{])/;

/** Lists events, then log records, each in order of time. */
export function listMoments({ events }: Span, logs: readonly LogRecord[], isRead: KeyFilter): Moment[] {
  const own = events
    .filter(({ name }) => name !== 'exception' && isRead(name))
    .slice(0, MAX_MOMENTS)
    .map(({ name, attributes }) =>
      moment(name, carriersIn(attributes, `event:${name}/`, wordsOf(name), isRead)),
    );
  const recorded = logs
    .filter(({ eventName }) => isRead(eventName))
    .slice(0, MAX_MOMENTS)
    .map(({ eventName, scopeName, body, attributes }) => {
      const text = body.replace(LABEL, '');
      const value = parseSent(text);
      // A logger's name says who speaks in a list; a line of text is about the program.
      const isList = eventName === '' && Array.isArray(value);
      const name = isList ? scopeName.slice(scopeName.lastIndexOf('.') + 1) : eventName;
      const words = wordsOf(name);
      const said = text === '' ? [] : [{ source: `log:${eventName}`, words, text, value }];
      return moment(name, [...said, ...carriersIn(attributes, `log:${eventName}/`, words, isRead)]);
    });
  return [...own, ...recorded];
}

function moment(name: string, carriers: readonly Carrier[]): Moment {
  return { name, words: wordsOf(name), carriers: carriers.flatMap(opened) };
}

/** Opens an object whose name says nothing: its fields have names of their own. */
function opened(carrier: Carrier): Carrier[] {
  return isRecord(carrier.value) ? [carrier, ...fieldsOf(carrier, carrier.value)] : [carrier];
}

export function fieldsOf({ source, words }: Carrier, value: Fields): Carrier[] {
  const start = source.includes(' $') ? source : `${source} $`;
  return Object.entries(value).map(([key, inner]) => ({
    source: `${start}${/^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`}`,
    words: [...words, ...wordsOf(key)],
    text: typeof inner === 'string' ? inner : undefined,
    value: typeof inner === 'string' ? parseSent(inner) : inner,
  }));
}

function carriersIn(
  attributes: Attributes,
  start: string,
  before: readonly string[],
  isRead: KeyFilter,
): Carrier[] {
  const found: Carrier[] = [];
  const groups = new Map<string, Fields>();
  for (const key of [...attributes.keys()].slice(0, MAX_KEYS)) {
    if (isInfrastructure(key) || !isRead(key)) {
      continue;
    }
    const text = attributes.get(key) ?? '';
    const prefix = text === '' ? undefined : findPrefix(key, attributes);
    if (prefix !== undefined) {
      const group = groups.get(prefix) ?? {};
      insert(
        group,
        key
          .slice(prefix.length)
          .split(/[.[\]]+/)
          .filter(Boolean),
        parseValue(text),
      );
      groups.set(prefix, group);
    } else if (text !== '') {
      found.push({
        source: named(start, key),
        words: before.length === 0 ? wordsOf(key) : [...before, ...wordsOf(key)],
        text,
        value: parseSent(text),
      });
    }
  }
  for (const [prefix, group] of groups) {
    found.push({
      source: named(start, prefix),
      words: joined(before, prefix),
      text: undefined,
      value: toLists(group),
    });
  }
  return found;
}

/** Joins the words of an event and of its key; a prefix that both have counts once. */
function joined(before: readonly string[], key: string): readonly string[] {
  const words = wordsOf(key);
  return words.length > 1 && words[0] === before[0] ? [...before, ...words.slice(1)] : [...before, ...words];
}

function named(start: string, key: string): string {
  return start === '' && key.includes(' ') ? JSON.stringify(key) : `${start}${key}`;
}

/** Begins a list of numbered keys. */
const NUMBERED = /^(.*?)(?:\.|\[|_(?=\d+[._]))\d{1,4}(?=[.\]_]|$)/;
/** An object that was flattened: the key ends below a name of arguments or results. */
const BELOW =
  /^(.*?(?:^|[._])(?:inputs?|outputs?|arguments|args|params|parameters|results?|payload|return))\.(.+)$/i;
/** Last words of keys below such a name that are no field of an object. */
const NO_FIELD =
  /(^|[._])(value|text|content|messages?|tokens?|type|mime_?type|count|model|format|length|cost)$/i;

export function isFlattened(key: string): boolean {
  return NUMBERED.test(key) || BELOW.test(key);
}

/** Finds the key of the list or the object that a flattened key belongs to. */
function findPrefix(key: string, attributes: Attributes): string | undefined {
  const list = NUMBERED.exec(key)?.[1];
  if (list !== undefined && list !== '') {
    return list;
  }
  const match = BELOW.exec(key);
  const prefix = match?.[1] ?? '';
  return match === null || NO_FIELD.test(match[2] ?? '') || attributes.has(prefix) ? undefined : prefix;
}

/** Path of a key below its list: a number and at most twelve names. */
const NUMBERED_PATH = /^\.\d{1,6}\.([^.]+(?:\.[^.]+){0,12})$/;

/** Puts together the list whose fields are attributes (`prefix.3.role`), in order of numbers with gaps; only keys below `start` are read. */
export function gatherList(attributes: Attributes, prefix: string, start = ''): Fields[] {
  const group: Fields = {};
  for (const key of attributes.keys()) {
    const path = key.startsWith(prefix) ? key.slice(prefix.length) : '';
    const isOwn = NUMBERED_PATH.exec(path)?.[1]?.startsWith(start) === true;
    const text = isOwn ? attributes.get(key) : undefined;
    if (text !== undefined && text !== '') {
      insert(group, path.slice(1).split('.'), text);
    }
  }
  return recordsIn(toLists(group));
}

function insert(holder: Fields, path: readonly string[], value: unknown): void {
  let at = holder;
  for (const step of path.slice(0, -1)) {
    const next = Object.hasOwn(at, step) ? at[step] : undefined;
    const inner: Fields = isRecord(next) ? next : {};
    define(at, step, inner);
    at = inner;
  }
  const last = path.at(-1);
  if (last !== undefined && !(Object.hasOwn(at, last) && isRecord(at[last]))) {
    define(at, last, value);
  }
}

/** Sets a field, also one whose name is of the prototype. */
function define(holder: Fields, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function toLists(value: unknown): unknown {
  if (!isRecord(value)) {
    return value;
  }
  const entries = Object.entries(value).map(([key, inner]) => [key, toLists(inner)] as const);
  return entries.length > 0 && entries.every(([key]) => /^\d+$/.test(key))
    ? entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => inner)
    : Object.fromEntries(entries);
}

/** Reads JSON, or what Python prints; any other text stays as it is. */
export function parseSent(text: string): unknown {
  const start = text.trimStart();
  if (!/^[[{"]|^\(['"]/.test(start)) {
    const object = readPrintedObject(start);
    return object === undefined ? text : object;
  }
  const printed = /^[[{(]\s*\{?\s*['(]|^\("|^\[[A-Z]\w*\(/.test(start) ? readPrinted(text) : undefined;
  const sent = printed === undefined ? parseStructure(text) : undefined;
  const quoted = printed === undefined && sent?.truncated !== false ? QUOTED.exec(start)?.[1] : undefined;
  return quoted?.split(/",\s*"/).map(spokenText) ?? printed ?? sent?.value ?? parseValue(text);
}

/** A list of texts that are in quotes but not escaped. */
const QUOTED = /^\["([^]*)"\]\s*$/;

/** Reads a text with its role before it: `user":"Hello`. */
function spokenText(text: string): unknown {
  const [, role, content] = /^(system|user|assistant|tool)":\s*"([^]*)$/.exec(text) ?? [];
  return role === undefined ? text : { role, content };
}
