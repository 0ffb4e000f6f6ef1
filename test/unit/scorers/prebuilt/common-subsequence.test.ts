import { describe, expect, it } from 'vitest';
import { commonSubsequenceLength } from '../../../../src/scorers/prebuilt/textual-difference.ts';
import { fc } from '../../../support/fast-check.ts';

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
  it('is as long as the textbook says, over word borders of the bit rows too', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '👩'), maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(text, text, async (first, second) => {
        expect(await commonSubsequenceLength(first, second)).toBe(byTable(first, second));
      }),
    );
  });

  it('lets other work have its turn while it compares long texts, and ends when called off', async () => {
    const long = 'abcdefghij'.repeat(3_000);
    const half = await commonSubsequenceLength(long, `${'x'.repeat(long.length)}${long}`);
    expect(half).toBe(long.length);

    const controller = new AbortController();
    const work = commonSubsequenceLength(long, long.repeat(3), controller.signal);
    controller.abort();
    await expect(work).rejects.toThrow(/abort/i);
  });
});
