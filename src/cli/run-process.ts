import { EXIT } from './exit-codes.ts';
import { run } from './run.ts';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setInterval } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readEnvironment } from '../config/environment.ts';

/** Interval of the looks for the npx that started this process, milliseconds. */
const LOOK_EVERY_MS = 1_000;

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
  void logError('unhandled promise rejection; the process continues', error);
});
process.on('uncaughtException', (error) => {
  void logError('uncaught exception; the process stops', error);
  if (!broken) {
    broken = true;
    onSignal('SIGTERM');
  }
});

async function logError(message: string, error: unknown): Promise<void> {
  const { createLog } = await import('../telemetry/log.ts');
  createLog('error').error(message, { error });
}

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

/**
 * Calls back once when the npx that started this process has ended. npm runs a command in a shell, which does not pass on the signal
 * that ends it, so a killed npx would leave this process behind.
 */
async function watchNpx(onEnd: () => void): Promise<void> {
  if (readEnvironment('npm_command') !== 'exec') {
    return;
  }
  const parent = process.ppid;
  const shell = await readProcess(parent);
  const isShell = shell !== undefined && !isNpx(shell);
  const npx = isShell ? await readProcess(shell.parent) : shell;
  if (npx === undefined || !isNpx(npx)) {
    return;
  }
  const hasEnded = async () =>
    process.ppid !== parent || (isShell && (await readProcess(parent))?.parent !== shell.parent);
  for await (const _ of setInterval(LOOK_EVERY_MS, undefined, { ref: false })) {
    if (await hasEnded()) {
      onEnd();
      return;
    }
  }
}

interface RunningProcess {
  readonly parent: number;
  readonly line: string;
}

function isNpx({ line }: RunningProcess): boolean {
  return /\b(npm exec|npx)\b/.test(line);
}

/** Reads the parent of a process and its command line; undefined when there is no such process, or no program that lists it. */
async function readProcess(pid: number): Promise<RunningProcess | undefined> {
  try {
    if (process.platform === 'linux') {
      const [stat, line] = await Promise.all(
        ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
      );
      // The program's name, in brackets, may contain blanks and brackets.
      const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
      return { parent: Number(parent), line: line?.replaceAll('\0', ' ') ?? '' };
    }
    const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=,command=', '-p', String(pid)]);
    const [, parent, line = ''] = /^\s*(\d+)\s+(.*)/.exec(stdout) ?? [];
    return parent === undefined ? undefined : { parent: Number(parent), line };
  } catch {
    return undefined;
  }
}
