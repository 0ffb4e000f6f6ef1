import { describe, expect, it } from 'vitest';
import { comparable, isQuotedIn } from '../../../../../../src/scorers/prebuilt/shared/evidence/find-quote.ts';

const SOURCE = comparable(
  'The Fabrikam T5 weighs 1.48 kg, has a 14-inch screen and lasts 17 hours on one charge. {"tempC":18}',
);

describe('a quote', () => {
  it.each([
    ['letter by letter', 'weighs 1.48 kg, has a 14-inch screen'],
    ['with other case, spacing and punctuation', 'Weighs  1.48 KG has a 14 inch screen!'],
    ['of data', '"tempC": 18'],
    ['with an ellipsis', 'The Fabrikam T5 … lasts 17 hours'],
    ['with a slip of the copyist', 'has a 14-inch screen and last 17 hours on one charge'],
  ])('stands in its source %s', (_how, quote) => {
    expect(isQuotedIn(quote, SOURCE)).toBe(true);
  });

  it.each([
    ['other words', 'it is very light'],
    ['another number', 'has a 15-inch screen and lasts 17 hours on one charge'],
    ['a part of a number', 'lasts 1'],
    ['nothing', ' … '],
    ['too little to show anything', 'a'],
    ['pieces of which one is made up', 'The Fabrikam T5 … costs 5 dollars'],
  ])('does not with %s', (_what, quote) => {
    expect(isQuotedIn(quote, SOURCE)).toBe(false);
  });

  it('may be a whole source, however short', () => {
    expect(isQuotedIn('42', comparable('42'))).toBe(true);
  });
});
