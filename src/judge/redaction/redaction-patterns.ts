import { ConfigError } from '../../domain/errors.ts';
import { findSecrets, joinRanges, type SecretKind, VALUE_START } from '../../domain/secret-shapes.ts';
import { findCardNumbers } from './find-card-numbers.ts';
import { findFolded } from './fold-text.ts';
import { findRandomText } from './find-random-text.ts';

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

const MAX_SOURCE_CHARS = 500;

/** Reads one entry of `redaction.patterns`: a known name, or a regular expression. Throws `ConfigError`. */
export function readRedactionPattern(entry: string, path: string): RedactionPattern {
  const named = Object.hasOwn(NAMED, entry) ? NAMED[entry] : undefined;
  if (named !== undefined) {
    return named;
  }
  if (/^[a-z][a-z0-9-]*$/.test(entry)) {
    throw new ConfigError(
      `${path}: no redaction pattern is named "${entry}"; known: ${Object.keys(NAMED).join(', ')}. To redact the word itself write "(?:${entry})".`,
    );
  }
  if (entry.length > MAX_SOURCE_CHARS) {
    throw new ConfigError(`${path}: longer than ${MAX_SOURCE_CHARS} characters; split it into several`);
  }
  const regex = compile(entry, path);
  if (regex.test('')) {
    throw new ConfigError(`${path}: "${entry}" matches the empty text; it must match at least one character`);
  }
  if (mayExplode(entry)) {
    throw new ConfigError(
      `${path}: "${entry}" repeats a group that itself repeats or refers back, which can take for ever on some texts; write it without that`,
    );
  }
  return { label: 'REDACTED', find: (text) => findInWindows(regex, text) };
}

function compile(source: string, path: string): RegExp {
  try {
    return new RegExp(source, 'gu');
  } catch (cause) {
    throw new ConfigError(
      `${path}: "${source}" is neither a known pattern name nor a regular expression: ${(cause as Error).message}`,
      undefined,
      cause,
    );
  }
}

/**
 * True for a repeated group that contains a repetition or an alternative, and for a back reference: the worst case is
 * exponential.
 */
function mayExplode(source: string): boolean {
  const plain = source
    .replace(/\\[1-9k]/g, '\u0001')
    .replace(/\\./gs, 'x')
    .replace(/\[[^\]]*\]/g, 'x');
  if (plain.includes('\u0001')) {
    return true;
  }
  const risky: boolean[] = [false];
  for (let index = 0; index < plain.length; index += 1) {
    const char = plain[index];
    if (char === '(') {
      risky.push(false);
    } else if (char === ')') {
      const inner = risky.pop() ?? false;
      if (inner && /^(?:[*+]|\{\d+,)/.test(plain.slice(index + 1))) {
        return true;
      }
      risky[risky.length - 1] ||= inner;
    } else if (char === '|' || char === '*' || char === '+' || (char === '{' && plain[index - 1] !== '(')) {
      risky[risky.length - 1] = true;
    }
  }
  return false;
}

/** Size of the windows in which a user's expression searches, because it may need time quadratic in the text. */
const WINDOW_CHARS = 8192;
/** Overlap of two windows: a value up to this length is always whole in one of them. */
const OVERLAP_CHARS = 1024;

function findInWindows(regex: RegExp, text: string): [number, number][] {
  const found: [number, number][] = [];
  for (let from = 0; from === 0 || from + OVERLAP_CHARS < text.length; from += WINDOW_CHARS - OVERLAP_CHARS) {
    for (const match of text.slice(from, from + WINDOW_CHARS).matchAll(regex)) {
      found.push([from + match.index, from + match.index + match[0].length]);
    }
  }
  return joinRanges(found.filter(([start, end]) => end > start));
}
