import type { AppError } from '../src/domain/errors.ts';
import { type RowRange, rowsIn } from './row-ranges.ts';

/** Result of a block that the store refused as a whole. */
export interface Bisection {
  /** Number of rows stored. */
  readonly taken: number;
  /** Refused ranges, as small as the number of inserts allows: nearly always single rows. */
  readonly refused: readonly { readonly range: RowRange; readonly error: AppError }[];
  /** Set when an insert failed for another reason, with the undecided ranges. */
  readonly failed: { readonly ranges: readonly RowRange[]; readonly error: AppError } | undefined;
}

/**
 * Finds the rows that a store refuses by inserting halves, level by level: one bad row among n costs about 2·log2(n)
 * inserts. `insert` returns the error, if there is one. Makes at most `maxInserts` inserts; ranges that are still refused
 * then stay whole. When no level had a stored row, the last inserts try single rows, to find out whether the rows are bad
 * or the store is.
 */
export async function bisect(
  range: RowRange,
  refusal: AppError,
  maxInserts: number,
  insert: (range: RowRange) => Promise<AppError | undefined>,
): Promise<Bisection> {
  const open = [{ range, error: refusal }];
  const refused: { range: RowRange; error: AppError }[] = [];
  let taken = 0;
  let left = maxInserts;
  const forProof = 2 * Math.ceil(Math.log2(rowsIn(range)));
  const take = () => (taken === 0 && left <= forProof ? open.pop() : open.shift());
  for (let next = take(); next !== undefined; next = take()) {
    if (rowsIn(next.range) === 1 || left < 2) {
      refused.push(next);
      continue;
    }
    left -= 2;
    const halves = splitInHalf(next.range);
    for (const [index, half] of halves.entries()) {
      const error = await insert(half);
      if (error === undefined) {
        taken += rowsIn(half);
      } else if (error.code === 'store_rejected') {
        open.push({ range: half, error });
      } else {
        const undecided = [...halves.slice(index), ...open.map((each) => each.range)];
        return { taken, refused, failed: { ranges: undecided, error } };
      }
    }
  }
  return { taken, refused, failed: undefined };
}

function splitInHalf({ pieces, from, to }: RowRange): RowRange[] {
  const middle = (from + to) >>> 1;
  return [
    { pieces, from, to: middle },
    { pieces, from: middle, to },
  ];
}
