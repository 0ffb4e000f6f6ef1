import type { Command } from 'commander';
import type { LoadedConfig } from '../config/index.ts';
import type { Log } from '../telemetry/log.ts';
import type { App } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Output } from './show/output.ts';

/** Options of every command. */
export interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly set?: Readonly<Record<string, string>>;
  readonly dataDir?: string;
  readonly storeUrl?: string;
}

/** Settings of a command's read of the configuration. */
export interface ConfigOptions {
  /** Another file than that of `--config`. */
  readonly file?: string | undefined;
  /** Reads the files that it names and makes its prebuilt scorers, so that their faults are reported with all others. */
  readonly checksParts?: boolean;
  /** Loads the modules of its own scorers, too. */
  readonly loadsModules?: boolean;
}

/** Context of a command. */
export interface CommandContext {
  readonly out: Output;
  readonly log: Log;
  readonly cwd: string;
  readonly globals: GlobalOptions;
  /** Aborted by Ctrl-C (SIGINT), SIGTERM and SIGHUP; its reason is the name of the signal. */
  readonly signal: AbortSignal;
  readonly stdin: AsyncIterable<Buffer | string>;
  /** Reads the configuration once; tells its warnings on stderr. */
  loadConfig(options?: ConfigOptions): Promise<LoadedConfig>;
  /** Opens store and scorers once; closed after the command, whatever happens. */
  openApp(): Promise<App>;
}

/** Does the work of a command; what it returns ends the program. */
export type Action<Arguments extends unknown[]> = (
  context: CommandContext,
  ...args: Arguments
) => Promise<ExitCode>;

export interface BindOptions {
  /** The action watches `context.signal` itself and ends in good order; others are left where they are by Ctrl-C. */
  readonly stopsItself?: boolean;
}

/** Ties an action to a commander command. */
export type Bind = <Arguments extends unknown[]>(
  action: Action<Arguments>,
  options?: BindOptions,
) => (...args: Arguments) => Promise<void>;

/** One file of `commands/` exports one of these. */
export type RegisterCommand = (program: Command, bind: Bind) => void;

/** Help that leads with examples: `[what it does, the line to type]`. */
export function examples(...entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([, line]) => line.length));
  return `Examples:\n${entries.map(([what, line]) => `  $ ${line.padEnd(width)}   ${what}`).join('\n')}\n`;
}
