/** Numbering of a reply's entries. */
export interface Numbering {
  readonly count: number;
  /** Field with the number. Default `n`. */
  readonly key?: string;
  /** The first number. Default 1. */
  readonly first?: 0 | 1;
  /** Name of the numbered things in error messages. Default `statement`. */
  readonly what?: string;
}

type Entry = Record<string, unknown>;

/**
 * Sorts the entries by their numbers, exactly one for each item; returns an error text when the numbers are wrong. Entries
 * without any numbers are read by position when their count is right.
 */
export function sortByNumber(entries: readonly Entry[], numbering: Numbering): Entry[] | string {
  const { count, key = 'n', first = 1, what = 'statement' } = numbering;
  const numbers = entries.map((entry) => readNumber(entry[key]));
  if (numbers.every((number) => number === undefined)) {
    return entries.length === count ? [...entries] : `${entries.length} verdicts for ${count} ${what}s`;
  }
  const last = first + count - 1;
  const byNumber = new Map<number, Entry>();
  for (const [index, entry] of entries.entries()) {
    const number = numbers[index];
    if (number === undefined || !(number >= first && number <= last)) {
      return `${JSON.stringify(entry[key]) ?? 'nothing'} is not the number of a ${what}; they go from ${first} to ${last}`;
    }
    if (byNumber.has(number)) {
      return `${what} ${number} has more than one verdict`;
    }
    byNumber.set(number, entry);
  }
  const wanted = Array.from({ length: count }, (_, index) => index + first);
  const missing = wanted.filter((number) => !byNumber.has(number));
  return missing.length === 0
    ? wanted.map((number) => byNumber.get(number) ?? {})
    : `no verdict on ${missing.join(', ')}`;
}

/** Reads a whole number, also as digits in a text, which some models write. */
function readNumber(value: unknown): number | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) ? number : Number.NaN;
}
