/** What `.ci/run` sets: there, a machine that lacks something fails the tests that need it. */
const STRICT = 'STRICT_TESTS';

/**
 * Tells what this machine does not prove, and why. Returns the message. With STRICT_TESTS=1 it throws instead, so that
 * nobody takes a run with left-out tests for a proof.
 * @param what tests that are left out, as a noun
 * @param why what is missing, and how to get it
 * @param options isInstallable: false for a right, which no script can install; its lack is no failure
 */
export function tellNotProved(
  what: string,
  why: string,
  { isInstallable = true }: { readonly isInstallable?: boolean } = {},
): string {
  const message = `NOT PROVED: ${what}, because ${why}`;
  if (isInstallable && process.env[STRICT] === '1') {
    throw new Error(`${message} (${STRICT}=1 allows no test to be left out)`);
  }
  process.stderr.write(`SKIPPED, ${message}\n`);
  return message;
}
