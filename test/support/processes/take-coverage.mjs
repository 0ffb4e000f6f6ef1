// Preloaded into `serve` (`node --import`): at each SIGUSR2 it writes the functions that ran since the last one to `$COVERAGE_FILE`.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
process.on('SIGUSR2', () =>
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error !== null) {
      throw error;
    }
    const file = process.env.COVERAGE_FILE;
    writeFileSync(`${file}.new`, JSON.stringify(coverage.result));
    renameSync(`${file}.new`, file);
  }),
);
