/** A list of byte ranges that is emptied and filled again without making garbage. */
export interface RangeList {
  /** start, end, start, end, … : the first `count * 2` numbers are valid. */
  readonly at: number[];
  count: number;
}

export function newRangeList(): RangeList {
  return { at: [], count: 0 };
}

export function addRange(list: RangeList, start: number, end: number): void {
  const index = list.count * 2;
  list.at[index] = start;
  list.at[index + 1] = end;
  list.count++;
}
