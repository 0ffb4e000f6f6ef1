/** Format characters (zero-width, bidirectional, tags), variation selectors that carry hidden text, and controls. */
const UNSEEN = /[\p{Cf}\u{E0100}-\u{E01EF}]|(?![\n\t])\p{Cc}/gu;

/** Text as a person sees it: without characters that show nothing, which could smuggle words past a reader. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(UNSEEN, '');
}
