import { createLog } from '../telemetry/log.ts';
import { EXIT } from './exit-codes.ts';
import { watchNpx } from './npx-parent.ts';
import { run } from './run.ts';

/** Time limit of a command after Ctrl-C, after which the process ends; `serve` drains within it. */
const STOP_LIMIT_MS = 30_000;

const stopping = new AbortController();
let broken = false;

function onSignal(signal: NodeJS.Signals): void {
  if (stopping.signal.aborted) {
    process.exit(broken ? EXIT.failed : EXIT.interrupted);
  }
  stopping.abort(signal);
  setTimeout(() => process.exit(broken ? EXIT.failed : EXIT.interrupted), STOP_LIMIT_MS).unref();
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);
// The end of a terminal or of a remote session.
process.on('SIGHUP', onSignal);

void watchNpx(() => {
  // At Ctrl-C, npx ends while this process still finishes its work.
  if (!stopping.signal.aborted) {
    onSignal('SIGHUP');
  }
});

/**
 * An unhandled rejection is logged and the process continues. After an uncaught exception the state is unknown: the process
 * finishes the accepted work and ends.
 */
process.on('unhandledRejection', (error) => {
  createLog('error').error('unhandled promise rejection; the process continues', { error });
});
process.on('uncaughtException', (error) => {
  createLog('error').error('uncaught exception; the process stops', { error });
  if (!broken) {
    broken = true;
    onSignal('SIGTERM');
  }
});

/** A reader that closes the pipe early (`| head`) is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed);
});
process.stderr.on('error', () => undefined);

const code = await run({
  argv: process.argv.slice(2),
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stopping.signal,
});
process.stdout.write('', () => process.exit(broken ? EXIT.failed : code));
