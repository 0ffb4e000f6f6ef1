import { describe, test } from 'vitest';

/** Files named `*.loop.test.ts` run in a short form in `npm test`, and as a whole in `npm run test:all`. */
export const isLong = process.env['SPANSCORE_LONG'] === '1';

/** Picks a count by the command that runs the tests. */
export function loops(short: number, long: number): number {
  return isLong ? long : short;
}

/** Registers a test of the long form: a deeper proof of what a test of the short form shows. */
export const testLong: (name: string, run: () => void | Promise<void>) => void = isLong
  ? test
  : () => undefined;

/** Registers tests of the long form that share their setup. */
export const describeLong: (name: string, tests: () => void) => void = isLong ? describe : () => undefined;
