import nlp from 'compromise';
import { describe, expect, it } from 'vitest';
import { withQuickMatching } from '../../../../../src/scorers/prebuilt/completeness/compromise.ts';
import { englishSentence } from '../../../../support/builders/english-sentences.ts';
import { fc } from '../../../../support/fast-check.ts';

/** Every word with its tags and its part of the sentence, and what is found by them. */
function readReading(text: string): unknown {
  const doc = nlp(text);
  return {
    words: doc.docs.map((terms) =>
      terms.map(({ normal, tags, ...term }) => ({
        normal,
        tags: [...(tags ?? [])],
        chunk: Reflect.get(term, 'chunk'),
      })),
    ),
    nouns: doc.nouns().out('array'),
    verbs: doc.verbs().out('array'),
    clauses: doc.clauses().out('array'),
    topics: doc.topics().out('array'),
  };
}

describe('quick matching', () => {
  it('reads sentences as the library does on its own', () => {
    fc.assert(
      fc.property(englishSentence, (sentence) => {
        expect(withQuickMatching(nlp, () => readReading(sentence))).toEqual(readReading(sentence));
      }),
      { numRuns: 40 },
    );
  });

  it('reads several sentences at once as the library does on its own', () => {
    fc.assert(
      fc.property(fc.array(englishSentence, { minLength: 2, maxLength: 4 }), (sentences) => {
        const text = sentences.join('\n');
        expect(withQuickMatching(nlp, () => readReading(text))).toEqual(readReading(text));
      }),
      { numRuns: 8 },
    );
  });

  it('matches patterns with places that may be missing, repeated or excluded', () => {
    const text = "We haven't shipped the big blue parcels, and they've been told twice.";
    const patterns = [
      '#Determiner? #Adjective+ #Plural',
      '!#Noun #Verb',
      'the #Adjective{1,3} parcels',
      '(we|they) .* told',
      '@hasContraction #Verb',
      '^we',
      'twice$',
      'the .? parcels',
      'nowhere',
      '#Noun parcels the',
    ];
    const found = () => patterns.map((pattern) => nlp(text).match(pattern).out('array') as unknown);
    const quick = withQuickMatching(nlp, found);
    expect(quick).toEqual(found());
    expect(quick).toContainEqual(['the big blue parcels,']);
  });

  it('leaves the library as it was, also when the work fails', () => {
    const before = { ...(nlp.methods() as { one: object }).one };
    expect(() =>
      withQuickMatching(nlp, () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect((nlp.methods() as { one: object }).one).toEqual(before);
  });
});
