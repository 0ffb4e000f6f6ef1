/** Sentence search looks at no more than this at once, so that it never holds up the process. */
const MAX_SLICE_CHARS = 4000;

/** The text in slices of bounded length, cut where a line ends, else where a sentence may end, else between two words. */
export function listSlices(text: string): string[] {
  return cut(text, MAX_SLICE_CHARS, ['\n', '. ', '! ', '? ', ' ']);
}

/** A piece of a sentence in parts of at most `maxChars`, cut between words where there are any. */
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
