import { EngineError } from '../engine-error.ts';

/** Name of a type and the types or numbers in its brackets: `Map(String, UInt8)` is Map of [String, UInt8]. */
export interface NativeType {
  readonly name: string;
  readonly parts: readonly string[];
}

const OPEN = '([{';
const CLOSE = ')]}';

/** Returns the index after a quoted text that opens at `start`. Quotes inside it are escaped by a backslash or doubled. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') {
      at++;
    } else if (text[at] === text[start]) {
      return at;
    }
  }
  return text.length;
}

/** Splits at commas outside brackets and quotes. */
function splitParts(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "'" || character === '`' || character === '"') {
      at = endOfQuoted(text, at);
    } else if (OPEN.includes(character)) {
      depth++;
    } else if (CLOSE.includes(character)) {
      depth--;
    } else if (character === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

/** Parses the text of a type. Throws `EngineError` INCORRECT_DATA for text that is no type. */
export function parseNativeType(text: string): NativeType {
  const parsed = /^(\w+)(?:\((.*)\))?$/su.exec(text.trim());
  if (parsed?.[1] === undefined) {
    throw new EngineError('INCORRECT_DATA', `'${text}' is not a type of a column`);
  }
  return { name: parsed[1], parts: splitParts(parsed[2] ?? '') };
}

/** Returns the type of a tuple's element, which may have a name before it: `a UInt8`, `` `b c` Map(String, String)``. */
export function elementType(element: string): string {
  const named = /^(?:`(?:[^`\\]|\\.)*`|\w+)\s+(?=\w)(.*)$/su.exec(element);
  return named?.[1] ?? element;
}
