import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Start time of a process as the system writes it, to tell a process from a later one with the same number. Undefined when
 * there is no such process, or the system does not say. On Linux: boot id and field 22 of `/proc/<pid>/stat` (proc_pid_stat(5)).
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
    // The name of the program, in brackets, may hold blanks and brackets.
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
