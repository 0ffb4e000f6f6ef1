import { describe, expect, it } from 'vitest';
import { listSentences } from '../../../../src/scorers/prebuilt/tone.ts';
import { fc } from '../../../support/fast-check.ts';

describe('sentences', () => {
  it('are the sentences that the pattern of the reference finds', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '.', '!', '?', '\n') });
    fc.assert(
      fc.property(text, (given) => {
        expect(listSentences(given)).toEqual(given.match(/[^.!?]+[.!?]+/g) ?? [given]);
      }),
    );
  });

  it('of a long text without an end take one pass over it', () => {
    const endless = 'a'.repeat(3_000_000);
    expect(listSentences(endless)).toEqual([endless]);
  });
});
