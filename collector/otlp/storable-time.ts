import { InvalidInputError } from '../../src/domain/errors.ts';

/**
 * First time that is refused, Unix nanoseconds: 2262-04-11. A column of nanoseconds holds not quite that day whole, so times in it could not
 * be summed by the hour.
 */
const LIMIT = 9_223_286_400_000_000_000n;
const LIMIT_HIGH = Number(LIMIT >> 32n);

/** Refuses a time beyond the range of the store. `high` are the upper 32 bits of Unix nanoseconds. */
export function requireStorableHigh(high: number, name: string): void {
  if (high >= LIMIT_HIGH) {
    throw new InvalidInputError(
      `${name} lies after 2262-04-10: check the clock and the unit (Unix nanoseconds)`,
    );
  }
}

/** Refuses a time beyond the range of the store. */
export function requireStorableTime(unixNano: bigint, name: string): void {
  requireStorableHigh(Number(unixNano >> 32n), name);
}
