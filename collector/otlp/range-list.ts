import { InvalidInputError } from '../../src/domain/errors.ts';

/** A run of bytes, its end not included. */
export type ByteRange = readonly [start: number, end: number];

/** List of byte ranges that is reused without creating garbage. */
export interface RangeList {
  /** start, end, start, end, …: the first `count * 2` numbers are valid. */
  readonly at: number[];
  count: number;
}

export function createRangeList(): RangeList {
  return { at: [], count: 0 };
}

/** Longest list: an empty entry has two bytes in a request and sixteen here. */
const MAX_RANGES = 100_000;

/** Throws an `InvalidInputError` when the list is full. */
export function addRange(list: RangeList, start: number, end: number): void {
  if (list.count >= MAX_RANGES) {
    throw new InvalidInputError(`it lists more than ${MAX_RANGES} attributes, events or links`);
  }
  const index = list.count * 2;
  list.at[index] = start;
  list.at[index + 1] = end;
  list.count++;
}
