import { stripVTControlCharacters } from 'node:util';
import { cutText } from '../../domain/cut-text.ts';

/** Control characters except tab and line feed, and marks that change the direction of text. */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Removes escape sequences and control characters from the text of a trace, for a terminal. Keeps lines. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : '',
  );
}

/** Like `cleanText`, on one line, cut at a number of characters. */
export function cleanLine(text: string, maxLength = 200): string {
  return cutText(cleanText(text).replaceAll(/\s+/g, ' ').trim(), maxLength);
}

/**
 * Formats JSON on one line that is safe on a terminal: it escapes control characters that `JSON.stringify` leaves raw.
 * Integers that a double cannot hold become texts.
 */
export function safeJson(value: unknown): string {
  const withTexts = (_key: string, item: unknown) => (typeof item === 'bigint' ? item.toString() : item);
  return escapeUnsafe(JSON.stringify(value, withTexts));
}

/** Writes control characters as escapes of JSON, but keeps line feeds: a terminal shows them and does not obey. */
export function escapeUnsafe(text: string): string {
  return text.replaceAll(UNSAFE, (character) =>
    character === '\n' ? character : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the digits of a fingerprint that tell the versions of a scorer apart. */
export function shortFingerprint(fingerprint: string): string {
  return fingerprint.slice(0, 8);
}
