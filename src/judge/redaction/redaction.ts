import { createPlaceholders, type Placeholders } from './placeholders.ts';
import { createFieldRedaction } from './redaction-fields.ts';
import { DEFAULT_PATTERNS, readRedactionPattern, type RedactionPattern } from './redaction-patterns.ts';

export interface RedactionOptions {
  /** Attribute keys and names of arguments and results (`email`, or a path like `customer.email`) whose values are never sent. */
  readonly fields?: readonly string[] | undefined;
  /** Names of known patterns, or regular expressions. Default: credit-card, api-key, jwt, private-key, email. */
  readonly patterns?: readonly string[] | undefined;
  /** False: everything stays as it is. Default true. */
  readonly enabled?: boolean | undefined;
}

/** Replaces what must not leave by placeholders; equal values get equal placeholders for as long as the redactor lives. */
export interface Redactor {
  text(text: string): string;
  /** A redacted copy of a structured value: messages, tool calls, JSON in strings. The value itself is not touched. */
  run<T>(value: T): T;
  /** Values replaced so far. */
  readonly count: number;
}

/** Values that one redactor remembers. */
const MAX_VALUES = 10_000;

/** Throws `ConfigError` for an entry of `patterns` that cannot be used. Make one per run: numbers then begin at 1. */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  if (options.enabled === false) {
    return { text: (text) => text, run: (value) => value, count: 0 };
  }
  const patterns = compiledPatterns(options.patterns ?? DEFAULT_PATTERNS);
  const placeholders = createPlaceholders(MAX_VALUES);
  const fields = createFieldRedaction(options.fields ?? [], placeholders, (text) =>
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

/** A redactor is made for every run; its configuration is read once. */
function compiledPatterns(patterns: readonly string[]): RedactionPattern[] {
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
 * The redactor of questions that are asked outside the serving side. One for the process: the steps of a scorer must agree
 * on what a placeholder stands for.
 */
export function defaultRedactor(): Redactor {
  shared ??= createRedactor();
  return shared;
}
