import { stripVTControlCharacters } from 'node:util';

/** Control characters but tab and line feed, and marks that turn the direction of text around. */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Text of a trace as a terminal may show it: no escape sequences, no control characters. Lines stay lines. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : '',
  );
}

/** As `cleanText`, on one line, and cut at a number of characters. */
export function cleanLine(text: string, maxLength = 200): string {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/**
 * JSON on one line that is safe on a terminal too: what `JSON.stringify` leaves raw but a terminal would act upon is
 * escaped. Integers beyond a double become texts.
 */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === 'bigint' ? item.toString() : item),
    indent,
  );
  return text.replaceAll(UNSAFE, (character) =>
    character === '\n' ? character : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
