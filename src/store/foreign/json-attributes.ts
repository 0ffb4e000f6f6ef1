import { AppError } from '../../domain/errors.ts';
import type { Attributes } from '../../domain/trace/span.ts';

/**
 * Reads attributes from the text of a ClickHouse JSON column, which stores the key `a.b` as a path: `{"a":{"b":1}}`. A key
 * that is also the beginning of another key appears twice (`{"a":1,"a":{"b":2}}`), so `JSON.parse` cannot read the text.
 * Values become the strings that the exporter writes into maps: scalars unchanged, lists and maps as JSON.
 * `keys` are the sent keys: they distinguish a map value from keys with dots, and include keys with an empty value.
 */
export function jsonAttributes(text: string, keys: readonly string[]): Attributes {
  const parents = listParents(keys);
  const known = new Set(keys);
  const found = new Map<string, string>();
  const scanner = { text, at: 0 };
  expect(scanner, '{');
  /** Keys of the open objects, innermost last. */
  const path: string[] = [];
  for (;;) {
    const next = scanner.text[scanner.at];
    if (next === '}') {
      scanner.at += 1;
      if (path.length === 0) {
        break;
      }
      path.pop();
    } else if (next === ',') {
      scanner.at += 1;
    } else {
      const name = JSON.parse(takeString(scanner)) as string;
      expect(scanner, ':');
      const key = path.length === 0 ? name : `${path.at(-1)}.${name}`;
      const isValue = known.has(key) && !parents.has(key);
      if (scanner.text[scanner.at] === '{' && !isValue) {
        scanner.at += 1;
        path.push(key);
      } else {
        found.set(key, takeValue(scanner));
      }
    }
  }
  for (const key of keys) {
    if (!found.has(key) && !parents.has(key)) {
      found.set(key, '');
    }
  }
  return found;
}

/** Every key that another key continues: `a` and `a.b` for `a.b.c`. */
function listParents(keys: readonly string[]): Set<string> {
  const parents = new Set<string>();
  for (const key of keys) {
    for (let dot = key.indexOf('.'); dot !== -1; dot = key.indexOf('.', dot + 1)) {
      parents.add(key.slice(0, dot));
    }
  }
  return parents;
}

interface Scanner {
  readonly text: string;
  at: number;
}

function expect(scanner: Scanner, character: string): void {
  if (scanner.text[scanner.at] !== character) {
    throw badJsonText(scanner.at);
  }
  scanner.at += 1;
}

/** A string with its quotes. */
function takeString(scanner: Scanner): string {
  const from = scanner.at;
  expect(scanner, '"');
  while (scanner.text[scanner.at] !== '"') {
    if (scanner.at >= scanner.text.length) {
      throw badJsonText(scanner.at);
    }
    scanner.at += scanner.text[scanner.at] === '\\' ? 2 : 1;
  }
  scanner.at += 1;
  return scanner.text.slice(from, scanner.at);
}

/** One value as an attribute keeps it. */
function takeValue(scanner: Scanner): string {
  const first = scanner.text[scanner.at];
  if (first === '"') {
    return JSON.parse(takeString(scanner)) as string;
  }
  const from = scanner.at;
  if (first === '{' || first === '[') {
    skipNested(scanner);
    return scanner.text.slice(from, scanner.at);
  }
  const rest = /[^,}\]]+/y;
  rest.lastIndex = from;
  const scalar = rest.exec(scanner.text)?.[0];
  if (scalar === undefined) {
    throw badJsonText(from);
  }
  scanner.at += scalar.length;
  return scalar === 'null' ? '' : scalar;
}

function skipNested(scanner: Scanner): void {
  let depth = 0;
  do {
    const character = scanner.text[scanner.at];
    if (character === undefined) {
      throw badJsonText(scanner.at);
    }
    if (character === '"') {
      takeString(scanner);
      continue;
    }
    depth += character === '{' || character === '[' ? 1 : character === '}' || character === ']' ? -1 : 0;
    scanner.at += 1;
  } while (depth > 0);
}

function badJsonText(at: number): AppError {
  return new AppError(`the store gave a JSON column as text that is no JSON object (at ${at})`, {
    code: 'bug',
    stage: 'store',
    retryable: false,
  });
}
