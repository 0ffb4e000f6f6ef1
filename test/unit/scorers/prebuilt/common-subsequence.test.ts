import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commonSubsequenceLength } from '../../../../src/scorers/prebuilt/textual-difference/common-subsequence.ts';

/** The textbook table, row by row. */
function byTable(first: string, second: string): number {
  let row = Array.from({ length: second.length + 1 }, () => 0);
  for (const unit of first.split('')) {
    const next = [0];
    for (let index = 0; index < second.length; index += 1) {
      const same = unit === second[index];
      next.push(same ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

describe('the longest common subsequence', () => {
  it('is as long as the textbook says, over word borders of the bit rows too', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '👩'), maxLength: 150 });
    fc.assert(
      fc.property(text, text, (first, second) => {
        expect(commonSubsequenceLength(first, second)).toBe(byTable(first, second));
      }),
    );
  });
});
