import { describe, expect, it } from 'vitest';
import { isQuotedIn, quotable } from '../../../../../../src/scorers/shared/quotes.ts';

const SOURCE = quotable(
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

  it.each([
    ['a number', '18', '{"celsius":18}', true],
    ['a digit of a longer number', '8', '{"celsius":18}', false],
    ['a part of a decimal', '18', '{"celsius":18.5}', false],
    ['a word', 'no', '{"open":"no"}', true],
    ['a part of a word', 'no', 'The north gate', false],
    ['an empty list', '[]', '{"orders":[]}', true],
    ['a word without spaces around it', '晴れ', '今日は晴れです。', true],
    [
      'escapes of JSON',
      'The "Grand" hotel\nopens at 9',
      String.raw`{"text":"The \"Grand\" hotel\nopens at 9"}`,
      true,
    ],
    ['code points of JSON', 'Müller', String.raw`{"name":"M\u00fcller"}`, true],
    ['entities of HTML', 'Café Müller & Söhne', 'Caf&eacute; M&#252;ller &amp; S&ouml;hne', true],
    [
      'a link without its address',
      'See the price list for 2026',
      'See the [price list](https://x.example/p) for 2026',
      true,
    ],
    [
      'members left out',
      '"status":"confirmed","seats":2',
      '{"status":"confirmed","id":"a7","seats":2}',
      true,
    ],
    ['members of two objects', '"id":"a1","price":9', '[{"id":"a1","price":5},{"id":"a2","price":9}]', false],
    ['cells left out', '| Graz | 18 |', '| Graz | Austria | 18 |\n| Linz | Austria | 20 |', true],
    ['cells of two rows', '| Graz | 20 |', '| Graz | Austria | 18 |\n| Linz | Austria | 20 |', false],
    ['vowel marks left out', 'السلام عليكم', 'السَّلَامُ عَلَيْكُمْ', true],
    ['a redacted value', 'Write to [EMAIL_1] by Monday', 'Write to jo@example.com by Monday', true],
  ])('with %s is found: %j in %j', (_what, quote, source, isFound) => {
    expect(isQuotedIn(quote, quotable(source))).toBe(isFound);
  });

  it('may be a whole source, however short', () => {
    expect(isQuotedIn('42', quotable('42'))).toBe(true);
  });
});
