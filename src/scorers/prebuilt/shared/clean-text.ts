/**
 * Invisible characters: format characters (zero-width, bidirectional, tags), variation selectors that carry hidden text, and
 * controls.
 */
const UNSEEN = /[\p{Cf}\u{E0100}-\u{E01EF}]|(?![\n\t])\p{Cc}/gu;

/** Removes invisible characters, which could hide words from a reader. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(UNSEEN, '');
}
