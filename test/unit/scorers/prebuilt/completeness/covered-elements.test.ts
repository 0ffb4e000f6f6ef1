import { describe, expect, it } from 'vitest';
import { listUncovered } from '../../../../../src/scorers/prebuilt/completeness.ts';
import { fc } from '../../../../support/fast-check.ts';

/** The rule, word by word: short words by equality, others when one holds the other and is not much longer. */
function listSlowly(wanted: readonly string[], given: readonly string[]): string[] {
  return wanted.filter(
    (word) =>
      !given.some((other) => {
        const [shorter, longer] = word.length > other.length ? [other, word] : [word, other];
        return word.length <= 3
          ? word === other
          : longer.includes(shorter) && shorter.length / longer.length > 0.6;
      }),
  );
}

describe('covered elements', () => {
  it('are found by the rule, for words of any length', () => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a'), minLength: 20, maxLength: 80 }),
    );
    const words = fc.uniqueArray(word, { maxLength: 12 });
    fc.assert(
      fc.property(words, words, (wanted, given) => {
        expect(listUncovered(wanted, given)).toEqual(listSlowly(wanted, given));
      }),
    );
  });
});
