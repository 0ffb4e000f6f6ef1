import { ConfigError } from '../../domain/errors.ts';
import { findSecrets, type SecretKind, VALUE_START } from '../../domain/secret-shapes.ts';
import { findCardNumbers } from './card-numbers.ts';
import { createFieldRedaction } from './fields.ts';
import { findFolded } from './fold-text.ts';
import { readOwnPattern } from './own-patterns.ts';
import { findRandomText } from './random-text.ts';

export interface RedactionOptions {
  /**
   * Attribute keys and names of arguments and results (`email`, or a path like `customer.email`) whose values are never sent. Names of
   * secrets (`password`, `apiKey`) are never sent in any case.
   */
  readonly fields?: readonly string[] | undefined;
  /** Names of known patterns, or regular expressions. Default: credit-card, api-key, jwt, private-key, email, random-text. */
  readonly patterns?: readonly string[] | undefined;
  /** False: nothing is redacted. Default true. */
  readonly enabled?: boolean | undefined;
}

/**
 * Replaces values that must not be sent by placeholders. Equal values get equal placeholders for the lifetime of the redactor.
 */
export interface Redactor {
  text(text: string): string;
  /** Returns a redacted copy of a structured value: messages, tool calls, JSON in strings. Does not change the value itself. */
  run<T>(value: T): T;
  /** Number of values replaced so far. */
  readonly count: number;
}

const NO_FIELDS: readonly string[] = [];

/** Texts without a value to redact that one redactor remembers. */
const MAX_PLAIN = { texts: 200, chars: 4_000 };

/** Most values that one redactor remembers. */
const MAX_VALUES = 10_000;

/**
 * Creates a redactor. Make one for each run: its numbers begin at 1. Throws `ConfigError` for an entry of `patterns` that
 * cannot be used.
 */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  if (options.enabled === false) {
    return { text: (text) => text, run: (value) => value, count: 0 };
  }
  const patterns = compilePatternsOnce(options.patterns ?? DEFAULT_PATTERNS);
  const placeholders = new Placeholders();
  // A run holds most of its texts several times, and a question repeats them.
  const plain = new Set<string>();
  const fields = createFieldRedaction(options.fields ?? NO_FIELDS, placeholders, (text) => {
    if (plain.has(text)) {
      return text;
    }
    const redacted = replacePatterns(text, patterns, placeholders);
    if (redacted === text && text.length < MAX_PLAIN.chars) {
      if (plain.size >= MAX_PLAIN.texts) {
        plain.clear();
      }
      plain.add(text);
    }
    return redacted;
  });
  return {
    ...fields,
    get count() {
      return placeholders.count;
    },
  };
}

/** A pattern that finds values of one kind in a text. */
export interface RedactionPattern {
  /** Label in the placeholder: `[LABEL_1]`. */
  readonly label: string;
  /** Finds [start, end) of every value, in order. */
  find(text: string): [number, number][];
}

const LABEL = String.raw`[\p{L}\p{N}-]{1,63}`;

/** Patterns with a name. All of them run in time proportional to the text, and look at it as a reader sees it. */
const NAMED: Readonly<Record<string, RedactionPattern>> = {
  email: fromSource(
    'EMAIL',
    String.raw`${VALUE_START}[\p{L}\p{N}._%+-]{1,64}@${LABEL}(?:\.${LABEL}){1,8}`,
    '@',
  ),
  'credit-card': folded('CREDIT_CARD', findCardNumbers),
  'api-key': fromSecret('API_KEY', 'api-key'),
  jwt: fromSecret('JWT', 'jwt'),
  'private-key': fromSecret('PRIVATE_KEY', 'private-key'),
  'random-text': { label: 'RANDOM_TEXT', find: findRandomText },
  phone: fromSource('PHONE', String.raw`(?<![\p{L}\p{N}])\+\d[\d ()./-]{6,18}\d(?!\d)`),
  ipv4: fromSource('IPV4', String.raw`(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)`),
  iban: fromSource(
    'IBAN',
    String.raw`${VALUE_START}[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])`,
  ),
};

/** Patterns in use when the configuration names none. */
export const DEFAULT_PATTERNS: readonly string[] = [
  'credit-card',
  'api-key',
  'jwt',
  'private-key',
  'email',
  'random-text',
];

function folded(label: string, find: RedactionPattern['find']): RedactionPattern {
  return { label, find: (text) => findFolded(text, find) };
}

function fromSecret(label: string, kind: SecretKind): RedactionPattern {
  return folded(label, (text) => findSecrets(kind, text));
}

/** `sign`: text that every value holds; most texts hold none, and looking for it is far cheaper. */
function fromSource(label: string, source: string, sign = ''): RedactionPattern {
  const regex = new RegExp(source, 'gu');
  return folded(label, (text) =>
    text.includes(sign)
      ? [...text.matchAll(regex)].map((match) => [match.index, match.index + match[0].length])
      : [],
  );
}

/** Reads one entry of `redaction.patterns`: a known name, or a regular expression. Throws `ConfigError`. */
export function readRedactionPattern(entry: string, path: string): RedactionPattern {
  const named = Object.hasOwn(NAMED, entry) ? NAMED[entry] : undefined;
  if (named === undefined && /^[a-z][a-z0-9-]*$/.test(entry)) {
    throw new ConfigError(
      `${path}: no redaction pattern is named "${entry}"; known: ${Object.keys(NAMED).join(', ')}. To redact the word itself write "(?:${entry})".`,
    );
  }
  return named ?? { label: 'REDACTED', find: readOwnPattern(entry, path) };
}

const compiled = new WeakMap<readonly string[], RedactionPattern[]>();

/** Compiled patterns are kept for each configuration, because every run makes its own redactor. */
function compilePatternsOnce(patterns: readonly string[]): RedactionPattern[] {
  let known = compiled.get(patterns);
  if (known === undefined) {
    known = patterns.map((entry, index) => readRedactionPattern(entry, `redaction.patterns[${index}]`));
    compiled.set(patterns, known);
  }
  return known;
}

function replacePatterns(
  text: string,
  patterns: readonly RedactionPattern[],
  placeholders: Placeholders,
): string {
  placeholders.reserveIn(text);
  let result = text;
  for (const pattern of patterns) {
    let at = 0;
    let replaced = '';
    for (const [start, end] of pattern.find(result)) {
      replaced += result.slice(at, start) + placeholders.of(pattern.label, result.slice(start, end));
      at = end;
    }
    result = at === 0 ? result : replaced + result.slice(at);
  }
  return result;
}

const PLACEHOLDER = /\[([A-Z][A-Z0-9_]*)_(\d{1,9})\]/g;

/**
 * Placeholders for values: equal values get equal placeholders, so that two redacted texts can still be compared. At most
 * `MAX_VALUES` values are remembered.
 */
class Placeholders {
  count = 0;
  readonly #byValue = new Map<string, string>();
  readonly #issued = new Set<string>();
  /** Placeholders of the text itself. */
  readonly #foreign = new Set<string>();
  readonly #last = new Map<string, number>();

  /** Returns `[LABEL_n]` for a value, and counts it. */
  of(label: string, value: string): string {
    this.count += 1;
    const known = this.#byValue.get(value);
    if (known !== undefined) {
      return known;
    }
    let placeholder: string;
    do {
      const number = (this.#last.get(label) ?? 0) + 1;
      this.#last.set(label, number);
      placeholder = `[${label}_${number}]`;
    } while (this.#foreign.has(placeholder));
    this.#byValue.set(value, placeholder);
    this.#issued.add(placeholder);
    const [oldest] = this.#byValue;
    if (this.#byValue.size > MAX_VALUES && oldest !== undefined) {
      this.#byValue.delete(oldest[0]);
      this.#issued.delete(oldest[1]);
    }
    return placeholder;
  }

  /** Reserves the placeholders that the text itself contains: their numbers are never used for values. */
  reserveIn(text: string): void {
    for (const [placeholder] of text.matchAll(PLACEHOLDER)) {
      if (!this.#issued.has(placeholder)) {
        this.#foreign.add(placeholder);
      }
    }
    while (this.#foreign.size > MAX_VALUES) {
      const [oldest = ''] = this.#foreign;
      this.#foreign.delete(oldest);
    }
  }
}

let shared: Redactor | undefined;

/**
 * Returns the redactor of questions asked outside the serving side. The process has one, because the steps of a scorer must use
 * the same placeholder for the same value.
 */
export function defaultRedactor(): Redactor {
  shared ??= createRedactor();
  return shared;
}
