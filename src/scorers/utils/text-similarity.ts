import stringSimilarity from 'string-similarity';
import { composeText } from './words.ts';

/**
 * Computes the Dice coefficient of the letter pairs of two composed texts without white space: 1 equal or both empty, 0 nothing in
 * common or fewer than two characters in one of them.
 */
export function textSimilarity(a: string, b: string): number {
  return stringSimilarity.compareTwoStrings(composeText(a), composeText(b));
}
