import { canonicalJson } from '../../domain/identity.ts';
import { isSecretName, SECRET_NAME_SIGN } from '../../domain/secret-shapes.ts';

/** Deepest level of JSON inside strings of JSON that is parsed; deeper text is redacted by the patterns only. */
const MAX_NESTED_JSON = 8;
/** Shortest value of a field that is also replaced everywhere else in the text; a shorter value could be any word. */
const MIN_KNOWN_CHARS = 6;

/** Longest name of a field in a text. */
const MAX_NAME_CHARS = 200;

interface Placeholders {
  of(label: string, value: string): string;
}

interface Walk {
  /** Configured fields in lower case. */
  readonly names: ReadonlyMap<string, string>;
  /** Expression that matches every text with the name of a field or a secret. */
  readonly sign: RegExp;
  /** Called for the value of a field; its result replaces the value. */
  readonly onField: (name: string, value: unknown) => unknown;
  /** Called for a text or a number under the name of a secret; its result replaces the value. */
  readonly onSecret: (name: string, value: string | number) => unknown;
  readonly onText: (text: string) => string;
}

/**
 * Redacts values by field name in structured values and in JSON within strings, then every string by `redactText`. Names of secrets
 * (`password`, `apiKey`) are fields, too.
 */
export function createFieldRedaction(
  fields: readonly string[],
  placeholders: Placeholders,
  redactText: (text: string) => string,
) {
  const names = new Map(fields.map((field) => [field.toLowerCase(), formatLabel(field)]));
  const known = new Map<string, string>();
  const finder = nameFinder(fields);

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

  function hideSecret(name: string, value: string | number): unknown {
    const text = String(value);
    if (!mayBeSecret(name, text)) {
      return value;
    }
    const placeholder = placeholders.of('SECRET', text);
    // A value of words alone ("required") would take these words out of every sentence.
    if (text.length >= MIN_KNOWN_CHARS && !/^[\p{L}\s]*$/u.test(text)) {
      known.set(text, placeholder);
    }
    return placeholder;
  }

  function hideKeyed(text: string): string {
    return replaceKeyed(text, finder, (name, value) =>
      names.has(name.toLowerCase()) ? hide(name.toLowerCase(), value) : hideSecret(name, value),
    );
  }

  function plainText(text: string): string {
    return redactText(replaceKnown(hideKeyed(text), known, placeholders));
  }

  const hiding: Walk = { names, sign: finder.sign, onField: hide, onSecret: hideSecret, onText: plainText };

  return {
    text: (text: string) => walk(text, hiding) as string,
    run<T>(value: T): T {
      // The values of the fields come first, wherever they are: an answer may repeat a value that a later tool call names.
      walk(value, { ...hiding, onText: hideKeyed });
      return walk(value, hiding) as T;
    },
  };
}

/** False for another name, for a mark in the place of a secret, and for a token of a text. */
function mayBeSecret(name: string, text: string): boolean {
  if (!isSecretName(name)) {
    return false;
  }
  const isMark = /^(?:\[[^\]]*\]|<[^>]*>|\W*)$/.test(text) || /redacted|scrubbed/i.test(text);
  const isToken = /token$/i.test(name) && /^(?:\p{L}{0,19}|\d{1,9})$/u.test(text);
  return !isMark && !isToken;
}

function formatLabel(field: string): string {
  const label = field.replace(/[^A-Za-z0-9]+/g, '_').replace(/^[_\d]+|_+$/g, '');
  return label === '' ? 'FIELD' : label.toUpperCase();
}

/** Finds the configured field of a path. A configured name matches the whole path or its end, in any letter case. */
function fieldAt(path: string, names: ReadonlyMap<string, string>): string | undefined {
  if (names.size === 0) {
    return undefined;
  }
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

function walk(value: unknown, steps: Walk): unknown {
  const { names } = steps;
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
      const redacted =
        field === undefined ? visitMember(key, member, memberPath, nested) : steps.onField(field, member);
      if (key === '__proto__') {
        Object.defineProperty(copy, key, { value: redacted, enumerable: true, writable: true });
      } else {
        copy[key] = redacted;
      }
    }
    return copy;
  }

  function visitMember(key: string, member: unknown, path: string, nested: number): unknown {
    if (!isSecretName(key)) {
      return visit(member, path, nested);
    }
    return Array.isArray(member)
      ? member.map((item) => visitMember(key, item, path, nested))
      : typeof member === 'string' || typeof member === 'number'
        ? steps.onSecret(key, member)
        : visit(member, path, nested);
  }

  function visitText(text: string, path: string, nested: number): string {
    const parsed = nested < MAX_NESTED_JSON && steps.sign.test(text) ? parseJson(text) : undefined;
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

interface NameFinder {
  /** Expression that matches every text with the name of a field or a secret. */
  readonly sign: RegExp;
  /** Expression for the end of such a name, its quote and a colon, at any depth of escaping: a prompt may be JSON inside JSON. */
  readonly nameEnd: RegExp;
}

const finders = new WeakMap<readonly string[], NameFinder>();

/** Expressions are kept for each configuration, because every run makes its own redactor. */
function nameFinder(fields: readonly string[]): NameFinder {
  let finder = finders.get(fields);
  if (finder === undefined) {
    const ends = fields.map((field) => escapeRegExp(field.split('.').at(-1) ?? field));
    const names = [...ends, SECRET_NAME_SIGN].join('|');
    finder = {
      sign: new RegExp(names, 'i'),
      nameEnd: new RegExp(String.raw`(?:${names})(\\{0,63}["'])\s*:\s*(\[\s*)?`, 'gi'),
    };
    finders.set(fields, finder);
  }
  return finder;
}

/** Redacts scalar values after the name of a field or a secret in text that contains pieces of JSON. */
function replaceKeyed(
  text: string,
  { sign, nameEnd }: NameFinder,
  hide: (name: string, value: string) => unknown,
): string {
  if (!sign.test(text)) {
    return text;
  }
  let result = '';
  let at = 0;
  for (const match of text.matchAll(nameEnd)) {
    const [whole, quote = '', list] = match;
    const start = match.index + whole.length;
    const nameUntil = text.indexOf(quote, match.index);
    const nameFrom = text.lastIndexOf(quote, nameUntil - 1) + quote.length;
    const name = text.slice(Math.max(nameFrom, nameUntil - MAX_NAME_CHARS), nameUntil);
    // A list has several values.
    for (let from = start; from >= at; from = list === undefined ? -1 : skipComma(text, at)) {
      const value = scalarAt(text, from, quote);
      const hidden = value === undefined ? undefined : hide(name, value.text);
      if (value === undefined || hidden === value.text) {
        break;
      }
      result += `${text.slice(at, from)}${quote}${String(hidden)}${quote}`;
      at = value.end;
    }
  }
  return result + text.slice(at);
}

/** Returns the place after a comma and blanks; -1 without one. */
function skipComma(text: string, at: number): number {
  const comma = /^\s{0,20},\s{0,20}/.exec(text.slice(at, at + 42))?.[0];
  return comma === undefined ? -1 : at + comma.length;
}

/** Finds the string (between quotes of this depth of escaping) or the number that begins at `start`. */
function scalarAt(text: string, start: number, quote: string): { text: string; end: number } | undefined {
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
