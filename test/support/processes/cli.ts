import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Program of the command line. */
export const MAIN = new URL('../../../src/cli/main.ts', import.meta.url).pathname;

/** Options of Node.js that make it report an old version. */
export const OLD_NODE = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"version",{value:"v20.20.2"})',
];
export const OLD_NODE_REFUSAL =
  'spanscore needs Node.js 22.18 or later, and this is v20.20.2: install a newer one from https://nodejs.org\n';

/** Result of a command. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** Options for Node.js itself. */
  readonly node?: readonly string[];
  /** True: npx starts it, and the child is npx. */
  readonly npx?: boolean;
  /** True: a terminal of its own controls it. The child is the terminal. */
  readonly terminal?: boolean;
}

/** A running command. */
export interface RunningCli {
  readonly child: ChildProcess;
  /** The output so far. */
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<CliResult>;
}

/** Creates an empty folder. */
export function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'spanscore-cli-'));
}

/** Starts the command line from source, without environment variables that would configure it or Node.js. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SPANSCORE_|OTEL_|OPENAI_|NODE_(?!COMPILE_CACHE))/.test(name),
  );
  const line = [process.execPath, ...(options.node ?? []), MAIN, ...args];
  const [program = '', ...words] =
    options.terminal === true
      ? ['script', '-qec', line.join(' '), '/dev/null']
      : options.npx === true
        ? ['npx', '-c', line.join(' ')]
        : line;
  const child = spawn(program, words, {
    cwd: options.cwd ?? emptyFolder(),
    env: { ...Object.fromEntries(inherited), ...options.variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Ends the process when the test run is aborted.
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);
  child.once('exit', () => process.off('exit', killChild));
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  child.stdin.on('error', () => undefined);
  if (options.stdin !== undefined) {
    child.stdin.end(options.stdin);
  }
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
  return { child, output, ended };
}

/** Runs a command to its end. Stdin is empty by default. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, { stdin: '', ...options }).ended;
}

/** Throws with the messages of a command that did not end with 0. */
export function requireDone({ code, stderr }: CliResult): void {
  if (code !== 0) {
    throw new Error(`the command ended with ${code}: ${stderr}`);
  }
}

/** Parses NDJSON. */
export function jsonLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}
