import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setInterval } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readEnvironment } from '../config/environment.ts';

/** Interval of the looks for the npx that started this process, milliseconds. */
const LOOK_EVERY_MS = 1_000;

/**
 * Calls back once when the npx that started this process has ended. npm runs a command in a shell, which does not pass on the signal
 * that ends it, so a killed npx would leave this process behind.
 */
export async function watchNpx(onEnd: () => void): Promise<void> {
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
