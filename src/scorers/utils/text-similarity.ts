import stringSimilarity from 'string-similarity';

/**
 * Dice coefficient of the letter pairs of two texts, white space left out: 1 equal or both empty, 0 nothing in common or
 * fewer than two characters on a side.
 */
export function textSimilarity(a: string, b: string): number {
  return stringSimilarity.compareTwoStrings(a, b);
}
