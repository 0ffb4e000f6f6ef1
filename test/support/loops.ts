/** Files named `*.loop.test.ts` run with short loops in `npm test` and once more with long ones in `npm run test:all`. */
export const isLong = process.env['SPANSCORE_LONG'] === '1';

/** Picks a count by the command that runs the tests. */
export function loops(short: number, long: number): number {
  return isLong ? long : short;
}
