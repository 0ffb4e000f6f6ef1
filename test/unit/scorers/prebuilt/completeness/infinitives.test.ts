import nlp from 'compromise';
import { describe, expect, it } from 'vitest';
import { putInfinitives } from '../../../../../src/scorers/prebuilt/completeness/infinitives.ts';
import type { Verbs } from '../../../../../src/scorers/prebuilt/completeness/infinitives.ts';
import { withQuickMatching } from '../../../../../src/scorers/prebuilt/completeness/compromise.ts';
import { englishSentence } from '../../../../support/builders/english-sentences.ts';
import { fc } from '../../../../support/fast-check.ts';

/** Verbs, words and topics of a sentence after the work. */
function findInfinitives(sentence: string) {
  return withQuickMatching(nlp, (matching) => {
    const doc = nlp(sentence);
    const verbs = putInfinitives(doc.verbs() as unknown as Verbs, matching);
    return {
      verbs,
      terms: doc.terms().out('array') as string[],
      topics: doc.topics().out('array') as string[],
    };
  });
}

function byTheLibrary(sentence: string) {
  const doc = nlp(sentence);
  const verbs = doc.verbs().toInfinitive().out('array') as string[];
  return {
    verbs,
    terms: doc.terms().out('array') as string[],
    topics: doc.topics().out('array') as string[],
  };
}

describe('putting verbs into the infinitive', () => {
  it('gives the verbs, words and topics that the library gives', () => {
    fc.assert(
      fc.property(englishSentence, (sentence) => {
        expect(findInfinitives(sentence)).toEqual(byTheLibrary(sentence));
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    'Mark told Will that Rob was running.',
    'At rate 0 it silently drops spans; its "traces generated" line is not what is sent.',
    'The `model_step.input` is **lossy**: messages are replaced by `"[tool: weather]"` placeholders | always.',
    'She said that the kings of Spain and the Bank of America had been paid in Paris.',
    'United we stood, and the Rolling Stones ran DMC.',
    'Is it?',
    'Running.',
    'Nothing here.',
  ])('agrees with the library on %j', (sentence) => {
    expect(findInfinitives(sentence)).toEqual(byTheLibrary(sentence));
  });

  it('takes the auxiliaries away and puts the verb down', () => {
    expect(findInfinitives('The parcels had been shipped on Monday.').terms.join(' ')).toBe(
      'The parcels ship on Monday.',
    );
  });
});
