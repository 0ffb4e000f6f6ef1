import { joinRanges } from './join-ranges.ts';

/** Digits in groups that one blank or dash parts: a card number stands in such a run, maybe beside other numbers. */
const DIGIT_RUN = /\d+(?:[ -]\d+)*/g;
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/**
 * [start, end) of every payment card number: 13 to 19 digits that begin with 2 to 6, pass the Luhn check and fill whole
 * groups. Every sequence of groups is tried, as the number before or after may be anything ("… 1111 0" is a card and a 0).
 */
export function findCardNumbers(text: string): [number, number][] {
  const found: [number, number][] = [];
  for (const run of text.matchAll(DIGIT_RUN)) {
    const groups = [...run[0].matchAll(/\d+/g)].map((group) => ({
      start: run.index + group.index,
      digits: group[0],
    }));
    for (const [first, { start }] of groups.entries()) {
      const count = longestCard(groups.slice(first, first + MAX_DIGITS), text);
      const last = groups[first + count - 1];
      if (last !== undefined && count > 0) {
        found.push([start, last.start + last.digits.length]);
      }
    }
  }
  // A chance match may overlap the real number: then all of both goes.
  return joinRanges(found);
}

interface Group {
  readonly start: number;
  readonly digits: string;
}

/** How many of the first groups make the longest card number; 0 for none. */
function longestCard(groups: readonly Group[], text: string): number {
  const first = groups[0];
  // Behind a point it is a fraction.
  if (first === undefined || !/^[2-6]/.test(first.digits) || text[first.start - 1] === '.') {
    return 0;
  }
  let digits = '';
  let longest = 0;
  for (const [index, group] of groups.entries()) {
    digits += group.digits;
    if (digits.length > MAX_DIGITS) {
      break;
    }
    if (digits.length >= MIN_DIGITS && passesLuhn(digits)) {
      longest = index + 1;
    }
  }
  return longest;
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighed = index % 2 === 0 ? digit : digit * 2;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0;
}
