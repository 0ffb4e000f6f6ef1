/** Most characters that one search for sentences gets, so that it never blocks the process. */
const MAX_SLICE_CHARS = 4000;

/**
 * Cuts a text into slices of bounded length: at the end of a line, else at a possible end of a sentence, else between two
 * words.
 */
export function listSlices(text: string): string[] {
  return cut(text, MAX_SLICE_CHARS, ['\n', '. ', '! ', '? ', ' ']);
}

/** Cuts a piece of a sentence into parts of at most `maxChars`, between words where possible. */
export function listParts(sentence: string, maxChars: number): string[] {
  return cut(sentence, maxChars, [' ']);
}

function cut(text: string, maxChars: number, marks: readonly string[]): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > maxChars) {
    const window = text.slice(from, from + maxChars);
    const end = marks.map((mark) => window.lastIndexOf(mark) + mark.length).find((at) => at > maxChars / 2);
    from += end ?? maxChars;
    pieces.push(window.slice(0, end ?? maxChars));
  }
  pieces.push(text.slice(from));
  return pieces;
}
