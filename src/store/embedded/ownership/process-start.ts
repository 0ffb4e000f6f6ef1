import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Reads the start time of a process as the system writes it, to tell a process from a later one with the same pid.
 * Undefined when there is no such process, or when the system gives no start time. On Linux: boot id and field 22 of
 * `/proc/<pid>/stat` (proc_pid_stat(5)).
 */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  return process.platform === 'linux' ? readFromProc(pid) : readFromPs(pid);
}

async function readFromProc(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The program's name, in brackets, may contain blanks and brackets.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return ticks === undefined ? undefined : `${boot.trim()} ${ticks}`;
  } catch {
    return undefined;
  }
}

async function readFromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}
