import { Command, CommanderError } from 'commander';
import { reportedIssues } from '../config/faults/config-issue.ts';
import { AppError, readErrorMessage, RequestError, InvalidInputError } from '../domain/errors.ts';
import { redactText } from '../telemetry/redact-fields.ts';
import { safeJson } from './show/clean-text.ts';
import {
  aborted,
  type Action,
  type BindOptions,
  type CommandContext,
  type GlobalOptions,
} from './command.ts';
import { EXIT, chooseExitCode, type ExitCode } from './exit-codes.ts';
import { createOutput, type Output, type TextSink } from './show/output.ts';
import { buildProgram, readGlobals } from './program.ts';

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; run the command as a user who may use it, or change its permissions',
  EPERM: 'the system does not allow it; run the command as another user, or change its permissions',
  ENOENT: 'there is no such file or folder; check the path',
  EISDIR: 'this is a folder; name a file',
  ENOTDIR: 'a part of the path is no folder; check the path',
  ENOSPC: 'the disk is full; free some space',
  EROFS: 'the file system is read-only; choose another place',
};

/** Arguments, streams and folder of the program. */
export interface Surroundings {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly signal: AbortSignal;
}

/** Runs one command line to its end. Returns the exit code. Never throws, never exits the process. */
export async function run(surroundings: Surroundings): Promise<ExitCode> {
  let code: ExitCode = EXIT.done;
  const bind =
    <Arguments extends unknown[]>(action: Action<Arguments>, options: BindOptions = {}) =>
    async (...args: Arguments) => {
      const work = async (context: CommandContext) => action(context, ...args);
      const command = nameOfCommand(args.at(-1));
      code = await runAction(work, { ...options, command }, readGlobals(program), surroundings);
    };
  const json = asksJson(surroundings.argv);
  const program = await buildProgram(surroundings.argv, bind, {
    stdout: (text) => void surroundings.stdout.write(text),
    stderr: (text) => void (json || surroundings.stderr.write(text)),
  });
  try {
    await program.parseAsync(surroundings.argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      throw error;
    }
    if (error.exitCode === 0) {
      return EXIT.done;
    }
    if (json) {
      tellError(new RequestError(readUsageFault(error)), { json }, surroundings.stderr);
    }
    return EXIT.usage;
  }
}

/** True for a line with `--json`, also for one that cannot be parsed. */
function asksJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

/** Returns what is wrong with a command line, on one line. Without a command, commander prints the help in place of an error. */
function readUsageFault({ code, message }: CommanderError): string {
  return code === 'commander.help'
    ? 'name a command; to list them: --help'
    : message.replace(/^error: /u, '').replaceAll('\n', ' ');
}

/** Returns the words after `spanscore` that name a command, for example `dlq list`; commander passes the command last. */
function nameOfCommand(command: unknown): string {
  if (!(command instanceof Command) || command.parent === null) {
    return '';
  }
  return `${nameOfCommand(command.parent)} ${command.name()}`.trim();
}

async function runAction(
  work: (context: CommandContext) => Promise<ExitCode>,
  options: BindOptions & { readonly command: string },
  globals: GlobalOptions,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const out = createOutput({ json: globals.json === true, ...surroundings });
  const yielding = createYielding(options, out);
  const signal = AbortSignal.any([surroundings.signal, yielding.signal]);
  const user = { command: options.command, signal, onWanted: () => yielding.start() };
  // Help and wrong usage need no configuration, and do not load its code.
  const { createSession } = await import('./session.ts');
  const session = createSession(globals, { ...surroundings, signal }, { out, user });
  try {
    const working = work(session.context);
    if (options.stopsItself === true) {
      return await working;
    }
    const code = await Promise.race([working, aborted(signal).then(() => EXIT.interrupted)]);
    if (code === EXIT.interrupted) {
      tellInterruption(signal, globals, surroundings.stderr);
    }
    return code;
  } catch (thrown) {
    if (signal.aborted) {
      tellInterruption(signal, globals, surroundings.stderr);
      return EXIT.interrupted;
    }
    const error = explainFileError(thrown);
    tellError(error, globals, surroundings.stderr);
    return chooseExitCode(error);
  } finally {
    await session.close();
  }
}

/** Time in milliseconds for commands that cannot stop early to finish when a `serve` waits for their engine. */
const YIELD_AFTER_MS = 10_000;

/** Creates a signal that ends this command when a `serve` waits for the data directory of its engine. */
function createYielding({ stopsItself }: BindOptions, out: Output): { signal: AbortSignal; start(): void } {
  const yielding = new AbortController();
  return {
    signal: yielding.signal,
    start: () => {
      out.talk('a spanscore serve waits for this data directory: this command stops to let it start');
      const abort = () => yielding.abort('a spanscore serve that waits for the data directory');
      setTimeout(abort, stopsItself === true ? 0 : YIELD_AFTER_MS).unref();
    },
  };
}

/** Prints to stderr that a command was interrupted before its work was done. */
function tellInterruption(signal: AbortSignal, { json }: GlobalOptions, stderr: TextSink): void {
  const message = `interrupted by ${String(signal.reason)}: the command has not finished; run it again`;
  stderr.write(json === true ? `${safeJson({ error: { code: 'cancelled', message } })}\n` : `${message}\n`);
}

/** Writes an error to stderr: as text, or with `--json` as one line of JSON. Prints a stack only with `--verbose`. */
function tellError(error: unknown, globals: GlobalOptions, stderr: TextSink): void {
  const message = redactText(readErrorMessage(error));
  const stack = globals.verbose === true && error instanceof Error ? redactText(error.stack ?? '') : '';
  if (globals.json === true) {
    const code = error instanceof AppError ? error.code : 'bug';
    const issues = reportedIssues(error);
    const details = { ...(issues.length === 0 ? {} : { issues }), ...(stack === '' ? {} : { stack }) };
    stderr.write(`${safeJson({ error: { code, message, ...details } })}\n`);
    return;
  }
  const unexpected =
    error instanceof AppError || globals.verbose === true ? '' : ' (run with --verbose for the stack)';
  stderr.write(`error: ${message}${unexpected}\n${stack === '' ? '' : `${stack}\n`}`);
}

/** Turns a failure of the file system at a path into an error that says what to do. Returns any other error as it is. */
export function explainFileError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('path' in thrown)) {
    return thrown;
  }
  const advice = ADVICE[String(thrown.code)];
  return advice === undefined || typeof thrown.path !== 'string'
    ? thrown
    : new InvalidInputError(`${thrown.path}: ${advice} (${String(thrown.code)})`, {}, thrown);
}
