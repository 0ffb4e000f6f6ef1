import { createPlaceholders, type Placeholders } from './placeholders.ts';
import { createFieldRedaction } from './redaction-fields.ts';
import { DEFAULT_PATTERNS, readRedactionPattern, type RedactionPattern } from './redaction-patterns.ts';

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
  const placeholders = createPlaceholders(MAX_VALUES);
  const fields = createFieldRedaction(options.fields ?? NO_FIELDS, placeholders, (text) =>
    replacePatterns(text, patterns, placeholders),
  );
  return {
    text: (text) => fields.text(text),
    run: (value) => fields.run(value),
    get count() {
      return placeholders.count;
    },
  };
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

let shared: Redactor | undefined;

/**
 * Returns the redactor of questions asked outside the serving side. The process has one, because the steps of a scorer must use
 * the same placeholder for the same value.
 */
export function defaultRedactor(): Redactor {
  shared ??= createRedactor();
  return shared;
}
