import { createLog } from '../telemetry/log.ts';
import { EXIT } from './exit-codes.ts';
import { run } from './run.ts';

/** Time that a command may take to stop after Ctrl-C before the process ends; `serve` drains within it. */
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

/**
 * A rejected promise that nobody handles is told and the work goes on. After an exception that nobody could catch nothing is
 * sure any more: what was accepted is finished, then the process ends.
 */
process.on('unhandledRejection', (error) => {
  createLog('error').error('a promise was rejected and nobody handled it', { error });
});
process.on('uncaughtException', (error) => {
  createLog('error').error('an exception that nobody caught; stopping', { error });
  if (!broken) {
    broken = true;
    onSignal('SIGTERM');
  }
});

/** A reader that has seen enough (`| head`) is no error. */
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
