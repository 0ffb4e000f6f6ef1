#!/usr/bin/env node
import { EXIT } from './exit-codes.ts';
import { run } from './run.ts';

/** How long a command may take to stop after Ctrl-C before it is left behind; `serve` drains within it. */
const STOP_LIMIT_MS = 30_000;

const stopping = new AbortController();

function onSignal(signal: NodeJS.Signals): void {
  if (stopping.signal.aborted) {
    process.exit(EXIT.interrupted);
  }
  stopping.abort(signal);
  setTimeout(() => process.exit(EXIT.interrupted), STOP_LIMIT_MS).unref();
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);

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
process.stdout.write('', () => process.exit(code));
