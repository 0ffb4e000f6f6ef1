/** What `.ci/run` sets: there, a machine that lacks something fails the tests that need it. */
const STRICT = 'SPANSCORE_STRICT';

/**
 * Tells what this machine does not prove, and why. Returns the message. With SPANSCORE_STRICT=1 it throws instead, so that
 * nobody takes a run with left-out tests for a proof.
 * @param what tests that are left out, as a noun
 * @param why what is missing, and how to get it
 */
export function tellNotProved(what: string, why: string): string {
  const message = `NOT PROVED: ${what}, because ${why}`;
  if (process.env[STRICT] === '1') {
    throw new Error(`${message} (${STRICT}=1 allows no test to be left out)`);
  }
  process.stderr.write(`SKIPPED, ${message}\n`);
  return message;
}
