import { isDeepStrictEqual } from 'node:util';
import type { SchemaVerdict } from './judge-schema.ts';

/** Most places in a reply that are tried as the beginning of a JSON value. */
const MAX_CANDIDATES = 64;
/** Most brackets without an end after which the search goes on: each costs a walk to the end of the reply. */
const MAX_UNCLOSED = 4;

/**
 * Reads the answer from a reply: the reply itself, or a JSON value in a code fence or in prose. Several different values that
 * match the schema are no answer, because nothing says which one the model meant.
 */
export function readJsonReply<T>(
  reply: string,
  validate: (value: unknown) => SchemaVerdict<T>,
): SchemaVerdict<T> {
  const text = withoutThoughts(reply).trim();
  if (text === '') {
    return { ok: false, fault: 'it is empty' };
  }
  const whole = parse(text);
  if (whole !== undefined) {
    return validate(whole.value);
  }
  const candidates = [...jsonValuesIn(text)];
  if (candidates.length === 0) {
    return { ok: false, fault: 'it holds no complete JSON value' };
  }
  const verdicts = candidates.map(validate);
  const good = verdicts.filter((verdict) => verdict.ok);
  const first = good[0];
  if (first === undefined) {
    return verdicts[0] ?? { ok: false, fault: 'it holds no complete JSON value' };
  }
  if (good.some((verdict) => !isDeepStrictEqual(verdict.value, first.value))) {
    return { ok: false, fault: 'it holds several different JSON values' };
  }
  return first;
}

/** Removes the leading block in which some models think aloud; it may contain drafts of the answer. */
function withoutThoughts(reply: string): string {
  return reply.replace(/^\s*<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>/i, '');
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    // The reply as a whole is not JSON: the caller searches for JSON inside it.
    return undefined;
  }
}

/** Yields the outermost JSON objects and lists in a text, from left to right. */
function* jsonValuesIn(text: string): Generator {
  let tried = 0;
  let unclosed = 0;
  let at = nextOpening(text, 0);
  while (at !== -1 && tried < MAX_CANDIDATES && unclosed < MAX_UNCLOSED) {
    tried += 1;
    const end = findClosing(text, at);
    unclosed += end === -1 ? 1 : 0;
    const value = end === -1 ? undefined : parse(text.slice(at, end + 1));
    if (value !== undefined) {
      yield value.value;
    }
    at = nextOpening(text, value === undefined ? at + 1 : end + 1);
  }
}

function nextOpening(text: string, from: number): number {
  const found = text.slice(from).search(/[{[]/);
  return found === -1 ? -1 : from + found;
}

/** Finds the index of the bracket that closes the one at `start`, without brackets in strings; -1 when there is none. */
function findClosing(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === '\\') {
        index += 1;
      } else if (char === '"') {
        inString = false;
      }
    } else if (char === '"') {
      inString = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) {
        return index;
      }
    }
  }
  return -1;
}
