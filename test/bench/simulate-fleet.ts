/**
 * Simulates a fleet of scorers second by second: traces, a judge that is slow now and then, a budget, and processes that are killed. Its
 * rates are those of the benches. Prints its assumptions, then lags, coverage and cost. The same seed gives the same numbers.
 * `npm run simulate:fleet -- [--spans-per-second 100000] [--scorers 32] [--kill-every-s 60] [--judge-ms 2000] …`: each number of
 * `DEFAULT_FLEET` has an option.
 */
import { readErrorMessage } from '../../src/domain/errors.ts';
import { simulateFleet } from './fleet/fleet-model.ts';
import { printAssumptions, printResult } from './fleet/fleet-report.ts';
import { readFleetOptions } from './fleet/read-fleet-options.ts';

try {
  const settings = readFleetOptions(process.argv.slice(2));
  const { spansPerSecond, scorers, seconds, seed } = settings;
  console.log(
    `${spansPerSecond.toLocaleString('en-US')} spans a second, ${scorers} scorers, ${seconds} s, seed ${seed}\n`,
  );
  const result = simulateFleet(settings);
  printAssumptions(settings, result.sampleRate);
  printResult(settings, result);
} catch (error) {
  console.error(readErrorMessage(error));
  process.exitCode = 2;
}
