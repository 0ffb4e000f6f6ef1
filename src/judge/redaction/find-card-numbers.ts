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
  // A chance match may overlap the real number: then all of both goes.
  return joinRanges(found);
}

interface Group {
  readonly start: number;
  readonly digits: string;
}

/** Number of groups from `first` on that make the longest card number; 0 for none. */
function longestCard(groups: readonly Group[], first: number, text: string): number {
  const head = groups[first];
  // Behind a point it is a fraction.
  if (head === undefined || !/^[2-6]/.test(head.digits) || text[head.start - 1] === '.') {
    return 0;
  }
  const luhn = startLuhn();
  let longest = 0;
  for (let index = first; luhn.length() <= MAX_DIGITS; index += 1) {
    const group = groups[index];
    if (group === undefined || luhn.length() + group.digits.length > MAX_DIGITS) {
      break;
    }
    luhn.add(group.digits);
    if (luhn.length() >= MIN_DIGITS && luhn.passes()) {
      longest = index - first + 1;
    }
  }
  return longest;
}

/**
 * The Luhn check of a number that grows: every second digit from the right counts double, so which ones depends on the
 * length; both sums are kept.
 */
function startLuhn() {
  let length = 0;
  const sums: [number, number] = [0, 0];
  return {
    length: () => length,
    add(digits: string): void {
      for (const char of digits) {
        const digit = Number(char);
        const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
        sums[0] += length % 2 === 0 ? doubled : digit;
        sums[1] += length % 2 === 0 ? digit : doubled;
        length += 1;
      }
    },
    passes: () => sums[length % 2 === 0 ? 0 : 1] % 10 === 0,
  };
}
