import { describe, expect, test } from 'vitest';
import { findCardNumbers } from '../../../../src/judge/redaction/card-numbers.ts';
import { fc } from '../../../support/fast-check.ts';

/** The textbook form of the Luhn check, for numbers of any length. */
function isLuhn(digits: string): boolean {
  const sum = digits
    .split('')
    .toReversed()
    .map((char, index) => Number(char) * (index % 2 === 0 ? 1 : 2))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return sum % 10 === 0;
}

const digits = (minLength: number, maxLength: number) =>
  fc.string({
    unit: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'),
    minLength,
    maxLength,
  });

describe('a number in one piece', () => {
  test('is found if and only if it passes the Luhn check', () => {
    fc.assert(
      fc.property(fc.constantFrom('2', '3', '4', '5', '6'), digits(12, 18), (first, rest) => {
        const number = first + rest;

        expect(findCardNumbers(number)).toEqual(isLuhn(number) ? [[0, number.length]] : []);
      }),
    );
  });

  test('of another length or beginning is not found', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          digits(1, 12),
          digits(20, 40),
          digits(12, 18).map((rest) => `1${rest}`),
        ),
        (number) => {
          expect(findCardNumbers(number)).toEqual([]);
        },
      ),
    );
  });
});

test('ranges never overlap and always lie in the text', () => {
  const pieces = fc.array(fc.oneof(digits(1, 6), fc.constantFrom(' ', '-', '.', 'x')), { maxLength: 60 });
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
