import { atLeast, type Goal } from '../bench-table.ts';

/** Ratio of the library's time to that of own code: below, the library takes its place. */
const WORTH_IT = 1.3;

export function isWorthIt(ratio: number): Goal {
  return atLeast(ratio, WORTH_IT, '×');
}
