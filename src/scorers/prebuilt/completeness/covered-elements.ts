/** Words up to this length are only covered by themselves. */
const EXACT_CHARS = 3;
/** A word covers another that it holds, or that holds it, when the shorter is more than this share of the longer. */
const MIN_SHARE = 0.6;
/** Pieces of words up to this length are looked up, longer words compared one by one. */
const MAX_INDEXED_CHARS = 40;

/** Counts the `wanted` words that `given` covers; both lists have each word once. */
export function countCovered(wanted: readonly string[], given: readonly string[]): number {
  const words = new Set(given);
  const pieces = new Set(given.flatMap(listPieces));
  const longest = given.filter((word) => word.length > MAX_INDEXED_CHARS * MIN_SHARE);
  return wanted.filter((word) => {
    if (words.has(word)) {
      return true;
    }
    if (word.length <= EXACT_CHARS) {
      return false;
    }
    return (
      pieces.has(word) ||
      listPieces(word).some((piece) => words.has(piece)) ||
      (word.length > MAX_INDEXED_CHARS * MIN_SHARE && longest.some((other) => isNear(word, other)))
    );
  }).length;
}

/** The pieces of a word that are large enough to cover it; none for a word too long to take apart. */
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
