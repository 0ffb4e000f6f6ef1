import { canonicalJson } from '../../domain/identity.ts';
import type { Placeholders } from './placeholders.ts';

/** Deepest level of JSON inside strings of JSON that is parsed; deeper text is redacted by the patterns only. */
const MAX_NESTED_JSON = 8;
/** Shortest value of a field that is also replaced everywhere else in the text; a shorter value could be any word. */
const MIN_KNOWN_CHARS = 6;

export interface FieldRedaction {
  text(text: string): string;
  run<T>(value: T): T;
}

interface Walk {
  /** Called for the value of a field; its result replaces the value. */
  readonly onField: (name: string, value: unknown) => unknown;
  readonly onText: (text: string) => string;
}

/** Redacts values by field name in structured values and in JSON within strings, then every string by `redactText`. */
export function createFieldRedaction(
  fields: readonly string[],
  placeholders: Placeholders,
  redactText: (text: string) => string,
): FieldRedaction {
  const names = new Map(fields.map((field) => [field.toLowerCase(), formatLabel(field)]));
  const known = new Map<string, string>();
  const findKey = keyFinder(fields);

  function hide(name: string, value: unknown): unknown {
    if (value === null || value === undefined || value === '' || typeof value === 'boolean') {
      return value;
    }
    const text = typeof value === 'string' ? value : canonicalJson(value);
    const placeholder = placeholders.of(names.get(name) ?? 'FIELD', text);
    if (text.length >= MIN_KNOWN_CHARS && typeof value !== 'object') {
      known.set(text, placeholder);
    }
    return placeholder;
  }

  function plainText(text: string): string {
    return redactText(replaceKnown(replaceKeyed(text, findKey, hide), known, placeholders));
  }

  const hiding: Walk = { onField: hide, onText: plainText };

  return {
    text: (text) => (names.size === 0 ? redactText(text) : (walk(text, names, hiding) as string)),
    run<T>(value: T): T {
      if (names.size > 0) {
        // The values of the fields come first, wherever they are: an answer may repeat a value that a later tool call names.
        walk(value, names, { onField: hide, onText: (text) => replaceKeyed(text, findKey, hide) });
      }
      return walk(value, names, hiding) as T;
    },
  };
}

function formatLabel(field: string): string {
  const label = field.replace(/[^A-Za-z0-9]+/g, '_').replace(/^[_\d]+|_+$/g, '');
  return label === '' ? 'FIELD' : label.toUpperCase();
}

/** Finds the configured field of a path. A configured name matches the whole path or its end, in any letter case. */
function fieldAt(path: string, names: ReadonlyMap<string, string>): string | undefined {
  let end = path.toLowerCase();
  for (;;) {
    if (names.has(end)) {
      return end;
    }
    const dot = end.indexOf('.');
    if (dot === -1) {
      return undefined;
    }
    end = end.slice(dot + 1);
  }
}

function walk(value: unknown, names: ReadonlyMap<string, string>, steps: Walk): unknown {
  const seen = new WeakMap<object, unknown>();

  function visit(node: unknown, path: string, nested: number): unknown {
    if (typeof node === 'string') {
      return visitText(node, path, nested);
    }
    if (node === null || typeof node !== 'object' || isOpaque(node)) {
      return node;
    }
    if (seen.has(node)) {
      return seen.get(node);
    }
    if (Array.isArray(node)) {
      const copy: unknown[] = [];
      seen.set(node, copy);
      for (const item of node) {
        copy.push(visit(item, path, nested));
      }
      return copy;
    }
    const copy: Record<string, unknown> = {};
    seen.set(node, copy);
    for (const [key, member] of Object.entries(node)) {
      const memberPath = path === '' ? key : `${path}.${key}`;
      const field = fieldAt(memberPath, names);
      const redacted = field === undefined ? visit(member, memberPath, nested) : steps.onField(field, member);
      Object.defineProperty(copy, key, {
        value: redacted,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return copy;
  }

  function visitText(text: string, path: string, nested: number): string {
    const parsed = names.size > 0 && nested < MAX_NESTED_JSON ? parseJson(text) : undefined;
    if (parsed === undefined) {
      return steps.onText(text);
    }
    const before = JSON.stringify(parsed);
    const after = JSON.stringify(visit(parsed, path, nested + 1));
    return after === before ? steps.onText(text) : after;
  }

  return visit(value, '', 0);
}

const rawJson = JSON as unknown as {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** True for dates, maps, class instances and numbers with all their digits: their insides are not redacted. */
function isOpaque(node: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(node);
  const isPlain = Array.isArray(node) || prototype === Object.prototype || prototype === null;
  return !isPlain || rawJson.isRawJSON(node);
}

/** Parses an object or a list; a number that a double cannot hold keeps its digits. */
function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) {
    return undefined;
  }
  try {
    return JSON.parse(text, keepDigits) as unknown;
  } catch {
    // The text looks like JSON but is not: it stays a text.
    return undefined;
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? rawJson.rawJSON(source)
    : value;
}

/** Builds an expression for `"name":` at any depth of escaping: the text of a prompt may be JSON inside JSON. */
function keyFinder(fields: readonly string[]): RegExp | undefined {
  if (fields.length === 0) {
    return undefined;
  }
  const names = fields.map((field) => escapeRegExp(field)).join('|');
  return new RegExp(String.raw`(\\{0,63})"(${names})\1"\s*:\s*`, 'gi');
}

/** Redacts scalar values after a field's name in text that contains pieces of JSON. */
function replaceKeyed(
  text: string,
  findKey: RegExp | undefined,
  hide: (name: string, value: unknown) => unknown,
): string {
  if (findKey === undefined) {
    return text;
  }
  let result = '';
  let at = 0;
  for (const match of text.matchAll(findKey)) {
    const start = match.index + match[0].length;
    const value = start < at ? undefined : scalarAt(text, start, match[1] ?? '');
    if (value !== undefined) {
      const quote = `${match[1] ?? ''}"`;
      result += `${text.slice(at, start)}${quote}${String(hide((match[2] ?? '').toLowerCase(), value.text))}${quote}`;
      at = value.end;
    }
  }
  return result + text.slice(at);
}

/** Finds the string (between quotes of this depth of escaping) or the number that begins at `start`. */
function scalarAt(text: string, start: number, escapes: string): { text: string; end: number } | undefined {
  const quote = `${escapes}"`;
  if (!text.startsWith(quote, start)) {
    const number = /^-?\d[\d.eE+-]*/.exec(text.slice(start, start + 64))?.[0];
    return number === undefined ? undefined : { text: number, end: start + number.length };
  }
  const from = start + quote.length;
  for (let end = text.indexOf(quote, from); end !== -1; end = text.indexOf(quote, end + 1)) {
    // A quote with more backslashes before it is part of the value.
    if (text[end - 1] !== '\\' || end === from) {
      return end === from ? undefined : { text: text.slice(from, end), end: end + quote.length };
    }
  }
  return { text: text.slice(from), end: text.length };
}

function replaceKnown(text: string, known: ReadonlyMap<string, string>, placeholders: Placeholders): string {
  if (known.size === 0) {
    return text;
  }
  const values = [...known.keys()].sort((a, b) => b.length - a.length).map((value) => escapeRegExp(value));
  const anywhere = new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${values.join('|')})(?![\p{L}\p{N}])`, 'gu');
  return text.replace(anywhere, (value) => placeholders.of('FIELD', value));
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
