/** Longest word that is covered only by the equal word. */
const EXACT_CHARS = 3;
/**
 * Smallest ratio of lengths: a word covers another when one contains the other and the shorter is longer than this share of the
 * longer.
 */
const MIN_SHARE = 0.6;
/** Longest word whose pieces are looked up; longer words are compared one by one. */
const MAX_INDEXED_CHARS = 40;

/** Lists the `wanted` words that `given` does not cover. Both lists have each word once. */
export function listUncovered(wanted: readonly string[], given: readonly string[]): string[] {
  const words = new Set(given);
  const pieces = new Set(given.flatMap(listPieces));
  const longest = given.filter((word) => word.length > MAX_INDEXED_CHARS * MIN_SHARE);
  return wanted.filter((word) => {
    if (words.has(word)) {
      return false;
    }
    if (word.length <= EXACT_CHARS) {
      return true;
    }
    return !(
      pieces.has(word) ||
      listPieces(word).some((piece) => words.has(piece)) ||
      (word.length > MAX_INDEXED_CHARS * MIN_SHARE && longest.some((other) => isNear(word, other)))
    );
  });
}

/** Lists the pieces of a word that are long enough to cover it; empty for a word above the length limit. */
function listPieces(word: string): string[] {
  if (word.length > MAX_INDEXED_CHARS) {
    return [];
  }
  const pieces: string[] = [];
  for (let length = word.length - 1; length / word.length > MIN_SHARE; length -= 1) {
    for (let from = 0; from + length <= word.length; from += 1) {
      pieces.push(word.slice(from, from + length));
    }
  }
  return pieces;
}

function isNear(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.length / longer.length > MIN_SHARE && longer.includes(shorter);
}
