import { Readable } from 'node:stream';
import { run } from '../../../src/cli/run.ts';
import type { CliResult } from './cli.ts';

/** Runs a command line in this process, which is much faster than in a new process. */
export async function runCommand(
  argv: readonly string[],
  options: {
    readonly cwd: string;
    readonly stdin?: string;
    readonly signal?: AbortSignal;
    /** Called with all of stdout after each part of it. */
    readonly onStdout?: (stdout: string) => void;
  },
): Promise<CliResult> {
  const output = { stdout: '', stderr: '' };
  const buildSink = (name: keyof typeof output) => ({
    write(text: string | Uint8Array) {
      output[name] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
      options.onStdout?.(output.stdout);
      return true;
    },
    once: () => undefined,
    off: () => undefined,
  });
  const code = await run({
    argv,
    cwd: options.cwd,
    stdin: Readable.from(options.stdin === undefined ? [] : [Buffer.from(options.stdin)]),
    stdout: buildSink('stdout'),
    stderr: buildSink('stderr'),
    signal: options.signal ?? new AbortController().signal,
  });
  return { code, ...output };
}
