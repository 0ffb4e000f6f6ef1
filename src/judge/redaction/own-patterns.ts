import { ConfigError } from '../../domain/errors.ts';
import { joinRanges } from '../../domain/secret-shapes.ts';

// Regular expressions of the configuration.

const MAX_SOURCE_CHARS = 500;

/** Returns the search of a regular expression. Throws `ConfigError` for one that cannot be used. */
export function readOwnPattern(entry: string, path: string): (text: string) => [number, number][] {
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
  return (text) => findInWindows(regex, text);
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
