import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { until } from '../until.ts';

/** Program that a test starts and waits for. */
export interface ProgramStart {
  /** Name of the program, for errors. */
  readonly name: string;
  readonly binary: string;
  readonly args: readonly string[];
  /** Environment variables besides those of this process. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Folder of its files; the stop removes it. */
  readonly folder: string;
  /** True when the program can be used; `log` is its stderr so far. */
  readonly isReady: (log: string) => boolean | Promise<boolean>;
  readonly timeoutMs: number;
}

/** A running program. */
export interface RunningProgram {
  readonly pid: number;
  /** Returns its stderr so far. */
  output(): string;
  /** Sends SIGTERM, waits for the end, and removes the folder. */
  stop(): Promise<void>;
  /** Sends SIGKILL, waits for the end, and removes the folder. */
  kill(): Promise<void>;
}

/** Starts a program and waits until it is ready. Throws with the end of its log when it ends before. */
export async function startProgram({ name, binary, args, ...start }: ProgramStart): Promise<RunningProgram> {
  const child = spawn(binary, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...start.variables },
  });
  // Ends the process when the test run is aborted.
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(async () => hasEnded() || (await start.isReady(log)), start.timeoutMs);
  if (hasEnded()) {
    throw new Error(`${name} ended with ${child.exitCode}: ${log.slice(-2_000)}`);
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (!hasEnded()) {
      child.kill(signal);
      await ended;
    }
    process.off('exit', killChild);
    rmSync(start.folder, { recursive: true });
  };
  return { pid: child.pid ?? 0, output: () => log, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}
