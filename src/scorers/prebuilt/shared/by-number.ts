/** Texts under their numbers, from 1: shorter than a list of entries that each tell theirs. */
export function byNumber(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text, index) => [index + 1, text]));
}
