import { joinRanges } from '../../domain/secret-shapes.ts';

/** Groups of digits that one blank or dash separates; a card number is part of such a run, maybe beside other numbers. */
const DIGIT_RUN = /\d+(?:[ -]\d+)*/g;
/** Card number with points between its groups, which a decimal number, a version or an address never has in this form. */
const DOTTED = /(?<![\d.])[2-6]\d{3}\.(?:\d{4}\.\d{4}\.\d{1,7}|\d{6}\.\d{4,5})(?!\d|\.\d)/g;
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/**
 * Finds [start, end) of every payment card number: 13 to 19 digits that begin with 2 to 6, pass the Luhn check and fill whole
 * groups. It tries every sequence of groups, because any number may stand before or after ("… 1111 0" is a card and a 0).
 */
export function findCardNumbers(text: string): [number, number][] {
  const found: [number, number][] = [];
  for (const run of text.matchAll(DIGIT_RUN)) {
    if (run[0].length < MIN_DIGITS) {
      continue;
    }
    const groups = [...run[0].matchAll(/\d+/g)].map((group) => ({
      start: run.index + group.index,
      digits: group[0],
    }));
    for (const [first, { start }] of groups.entries()) {
      const count = longestCard(groups, first, text);
      const last = groups[first + count - 1];
      if (last !== undefined && count > 0) {
        found.push([start, last.start + last.digits.length]);
      }
    }
  }
  for (const { 0: dotted, index } of text.includes('.') ? text.matchAll(DOTTED) : []) {
    if (new Luhn().add(dotted.replaceAll('.', '')).passes) {
      found.push([index, index + dotted.length]);
    }
  }
  // A sequence that passes the check by chance may overlap the real number: then both are redacted.
  return joinRanges(found);
}

interface Group {
  readonly start: number;
  readonly digits: string;
}

/** Returns the number of groups from `first` on that make the longest card number; 0 for none. */
function longestCard(groups: readonly Group[], first: number, text: string): number {
  const head = groups[first];
  // Digits after a decimal point are a fraction.
  if (head === undefined || !/^[2-6]/.test(head.digits) || text[head.start - 1] === '.') {
    return 0;
  }
  const luhn = new Luhn();
  let longest = 0;
  for (let index = first; luhn.length <= MAX_DIGITS; index += 1) {
    const group = groups[index];
    if (group === undefined || luhn.length + group.digits.length > MAX_DIGITS) {
      break;
    }
    luhn.add(group.digits);
    if (luhn.length >= MIN_DIGITS && luhn.passes) {
      longest = index - first + 1;
    }
  }
  return longest;
}

/**
 * Luhn check of a number that grows. Every second digit from the right counts double, so the length decides which digits do;
 * therefore both sums are kept.
 */
class Luhn {
  length = 0;
  readonly #sums: [number, number] = [0, 0];

  add(digits: string): this {
    for (const char of digits) {
      const digit = Number(char);
      const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
      this.#sums[this.length % 2 === 0 ? 0 : 1] += doubled;
      this.#sums[this.length % 2 === 0 ? 1 : 0] += digit;
      this.length += 1;
    }
    return this;
  }

  get passes(): boolean {
    return this.#sums[this.length % 2 === 0 ? 0 : 1] % 10 === 0;
  }
}
