import { describe, expect, test } from 'vitest';
import { findCardNumbers } from '../../../src/judge/redaction/card-numbers.ts';
import { fc } from '../../support/fast-check.ts';
import { DEFAULT_PATTERNS, readRedactionPattern } from '../../../src/judge/redaction/redaction.ts';

/** The textbook form of the Luhn check, for numbers of any length. */
function isLuhn(digits: string): boolean {
  const sum = digits
    .split('')
    .toReversed()
    .map((char, index) => Number(char) * (index % 2 === 0 ? 1 : 2))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return sum % 10 === 0;
}

const digitsOf = (minLength: number, maxLength: number) =>
  fc.string({
    unit: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'),
    minLength,
    maxLength,
  });

describe('a number in one piece', () => {
  test('is found if and only if it passes the Luhn check', () => {
    fc.assert(
      fc.property(fc.constantFrom('2', '3', '4', '5', '6'), digitsOf(12, 18), (first, rest) => {
        const number = first + rest;

        expect(findCardNumbers(number)).toEqual(isLuhn(number) ? [[0, number.length]] : []);
      }),
    );
  });

  test('of another length or beginning is not found', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          digitsOf(1, 12),
          digitsOf(20, 40),
          digitsOf(12, 18).map((rest) => `1${rest}`),
        ),
        (number) => {
          expect(findCardNumbers(number)).toEqual([]);
        },
      ),
    );
  });
});

test('ranges never overlap and always lie in the text', () => {
  const pieces = fc.array(fc.oneof(digitsOf(1, 6), fc.constantFrom(' ', '-', '.', 'x')), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('');
      let at = 0;
      for (const [start, end] of findCardNumbers(text)) {
        expect(start).toBeGreaterThanOrEqual(at);
        expect(end).toBeGreaterThan(start);
        at = end;
      }
      expect(at).toBeLessThanOrEqual(text.length);
    }),
  );
});

/** Values, their beginnings and their signs: what decides whether a text is searched at all. */
const TELLING = [
  'bob@example.com',
  'bob@',
  '@example.com',
  'sk-abcdefghijklmnopqrstuv',
  'sk-short',
  'SK-abcdefghijklmnopqrstuv',
  'pk_live_abcdefghijklmnop',
  'AKIAIOSFODNN7EXAMPLE',
  'ASIAIOSFODNN7EXAMPLE',
  `ghp_${'a1'.repeat(18)}`,
  `github_pat_${'a'.repeat(22)}`,
  'glpat-abcdefghijklmnopqrst',
  'xoxb-1234567890-abc',
  `AIza${'b'.repeat(35)}`,
  `npm_${'c'.repeat(36)}`,
  `hf_${'d'.repeat(34)}`,
  'Bearer abcdefghij0123456789',
  'bearer abcdefghij0123456789==',
  'Bearer ',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl',
  'eyJhbGci',
  '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----',
  '-----BEGIN ',
  'PRIVATE KEY-----',
  String.raw`\n`,
  String.raw`\u0041`,
];

const texts = fc
  .array(
    fc.oneof(fc.constantFrom(...TELLING), fc.string({ maxLength: 8 }), fc.constantFrom(' ', '\n', '"', '.')),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''));

/** Holds every sign and no value: behind it no search is cut short. */
const ALL_SIGNS =
  '\n\n @ sk- sk_ pk_ rk_ AKIA ASIA gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- xox AIza npm_ hf_ earer eyJ -----BEGIN ';

describe.each(DEFAULT_PATTERNS.filter((name) => name !== 'credit-card' && name !== 'random-text'))(
  'looking for a sign of %s first',
  (name) => {
    const pattern = readRedactionPattern(name, 'patterns[0]');
    const find = (text: string) => pattern.find(text);

    test('finds what looking everywhere finds', () => {
      fc.assert(
        fc.property(texts, (text) => {
          // An open private key goes on to the end: there is a sign in the text itself then.
          fc.pre(!/-----BEGIN (?![\s\S]*-----END)/.test(text));
          expect(find(text)).toEqual(find(text + ALL_SIGNS));
        }),
        { numRuns: 500 },
      );
    });

    test('finds every telling value alone or nowhere', () => {
      const shortcut = TELLING.map((text) => find(text).length);
      expect(shortcut).toEqual(TELLING.map((text) => find(text + ALL_SIGNS).length));
      expect(Math.max(...shortcut)).toBe(1);
    });
  },
);

describe('skipping runs of digits that are too short', () => {
  const groups = fc.array(
    fc.tuple(fc.stringMatching(/^\d{1,20}$/), fc.constantFrom(' ', '-', '.', ' x ', '')),
    {
      maxLength: 8,
    },
  );

  test('finds what trying every sequence of groups finds', () => {
    fc.assert(
      fc.property(groups, (parts) => {
        const text = parts.flat().join('');
        const found = new Set(findCardNumbers(text).flatMap(([start, end]) => range(start, end)));
        expect([...found]).toEqual([...everyCardDigit(text)].sort((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });
});

/** Positions of all characters of card numbers, by trying each beginning with each end. */
function everyCardDigit(text: string): Set<number> {
  const positions = new Set<number>();
  for (const { index: start } of text.matchAll(/(?<![\d.])[2-6]/g)) {
    for (let end = start + 13; end <= text.length; end += 1) {
      if (isCard(text.slice(start, end)) && !/\d/.test(text.charAt(end))) {
        range(start, end).forEach((position) => positions.add(position));
      }
    }
  }
  return positions;
}

function isCard(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, '');
  if (!/^\d+(?:[ -]\d+)*$/.test(text) || digits.length < 13 || digits.length > 19) {
    return false;
  }
  return isLuhn(digits);
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, offset) => start + offset);
}
