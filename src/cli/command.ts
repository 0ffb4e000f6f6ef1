import { once } from 'node:events';
import type { Command } from 'commander';
import type { LoadedConfig } from '../configuration.ts';
import type { Log } from '../telemetry/log.ts';
import type { App } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Output } from './show/output.ts';

export interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly set?: Readonly<Record<string, string>>;
  readonly dataDir?: string;
  readonly storeUrl?: string;
}

export interface ConfigOptions {
  /** Replaces the file of `--config`. */
  readonly file?: string | undefined;
  /** Reads the named files and creates the prebuilt scorers, to report their faults with the others. */
  readonly checksParts?: boolean;
  /** Loads the modules of the user's own scorers too. */
  readonly loadsModules?: boolean;
  /** Loads it anew, from this text in place of the file's. Default: the configuration that was loaded first. */
  readonly anew?: { readonly text: string | undefined };
}

export interface CommandContext {
  readonly out: Output;
  readonly log: Log;
  readonly cwd: string;
  readonly globals: GlobalOptions;
  /** Aborted by Ctrl-C (SIGINT), SIGTERM and SIGHUP; the reason is the name of the signal. */
  readonly signal: AbortSignal;
  readonly stdin: AsyncIterable<Buffer | string>;
  /** Loads the configuration once. Prints its warnings to stderr. */
  loadConfig(options?: ConfigOptions): Promise<LoadedConfig>;
  /** Opens the store and the scorers once. They are closed after the command, also after an error. */
  openApp(): Promise<App>;
}

/** Runs a command. Returns the exit code of the program. */
export type Action<Arguments extends unknown[]> = (
  context: CommandContext,
  ...args: Arguments
) => Promise<ExitCode>;

export interface BindOptions {
  /** True when the action watches `context.signal` and stops itself. Ctrl-C stops waiting for any other action. */
  readonly stopsItself?: boolean;
}

/** Connects an action to a commander command. */
export type Bind = <Arguments extends unknown[]>(
  action: Action<Arguments>,
  options?: BindOptions,
) => (...args: Arguments) => Promise<void>;

/** Type of the export of each file in `commands/`. */
export type RegisterCommand = (program: Command, bind: Bind) => void;

/** Adds examples to the help of a command: pairs of a description and a command line. */
export function withExamples(command: Command, examples: readonly (readonly [string, string])[]): Command {
  const width = Math.max(...examples.map(([, line]) => line.length));
  const lines = examples.map(([what, line]) => `  $ ${line.padEnd(width)}   ${what}`);
  return command.addHelpText('before', `Examples:\n${lines.join('\n')}\n`);
}

/** Waits until a signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    await once(signal, 'abort');
  }
}
