/** Characters that a text of a trace may contain to hide or to reorder what a reader sees. Tab and line feed stay. */
const HIDDEN = /[\p{Cc}\u061C\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/gu;

/** Code point of the picture of NUL: each C0 control has one. */
const PICTURES = 0x24_00;
const DELETE = 0x7f;
const DELETE_PICTURE = '\u2421';

/**
 * Makes a text of a trace safe to read: control characters and marks that change the direction of text become visible, and half a
 * surrogate pair becomes the replacement character.
 */
export function visibleText(text: string): string {
  return text.toWellFormed().replaceAll(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\n' || character === '\t') {
      return character;
    }
    if (code < 0x20) {
      return String.fromCodePoint(PICTURES + code);
    }
    return code === DELETE ? DELETE_PICTURE : `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
  });
}

/** Characters of a long text that a page shows before the reader asks for all of them. */
const SHOWN_CHARS = 4_000;

/** Beginning of a text, and the number of characters that are left out. */
export function cutForReading(text: string, maxChars = SHOWN_CHARS): { shown: string; hidden: number } {
  return text.length <= maxChars
    ? { shown: text, hidden: 0 }
    : { shown: text.slice(0, maxChars), hidden: text.length - maxChars };
}

/** Spreads a text that is JSON over lines, so that no word of it breaks; another text stays as it is. */
export function showJson(text: string): string {
  try {
    return showValue(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Writes a value of JSON for people; a text stays as it is. */
export function showValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value));
}
