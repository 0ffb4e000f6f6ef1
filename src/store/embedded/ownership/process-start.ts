import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { hashValue } from '../../../domain/identity.ts';

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/**
 * Reads the start time of a process as the system writes it, to tell a process from a later one with the same pid.
 * Undefined when there is no such process, or when the system gives no start time. On Linux: boot id and field 22 of
 * `/proc/<pid>/stat` (proc_pid_stat(5)).
 */
export async function readProcessStart(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') {
    return readFromPs(pid);
  }
  try {
    return `${readFileSync(BOOT_ID_FILE, 'utf8').trim()} ${readStat(pid).ticks}`;
  } catch {
    return undefined;
  }
}

/**
 * Returns text that names this process among all processes of all machines: a hash of the running system, the pid and the start. The
 * hash has the namespaces in which pids and starts are valid, because containers share a kernel. '' where the system does not tell.
 */
export function markProcess(): string {
  try {
    return [hashMachine(), process.pid, readStat(process.pid).ticks].join(' ');
  } catch {
    return '';
  }
}

/**
 * Returns true when a marked process has ended. False for a process of another machine or container, which cannot be seen from
 * here, and for a process that may still run.
 */
export function hasEnded(mark: string): boolean {
  const [machine, pid, start] = mark.split(' ');
  const number = Number(pid);
  try {
    if (start === undefined || !(number > 0) || machine !== hashMachine()) {
      return false;
    }
  } catch {
    return false;
  }
  try {
    const { state, ticks } = readStat(number);
    return ticks !== start || state === 'Z';
  } catch {
    // A system may hide the processes of other users.
    return !isThere(number);
  }
}

function hashMachine(): string {
  const spaces = ['pid', 'time'].map((name) => readlinkSync(`/proc/self/ns/${name}`));
  return hashValue([hostname(), readFileSync(BOOT_ID_FILE, 'utf8').trim(), ...spaces]).slice(0, 16);
}

function readStat(pid: number): { readonly state: string; readonly ticks: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in brackets, may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', ticks: fields[19] ?? '' };
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
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
