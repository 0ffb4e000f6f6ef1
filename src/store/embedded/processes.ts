import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hashValue } from '../../domain/identity.ts';
import { type EngineAddress, readEngineFile } from './data-folder.ts';
import type { Log } from '../../telemetry/log.ts';

/** Time that an engine may take to end after its owner ended, milliseconds. */
const GRACE_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;

/** Process that holds the files of an engine. */
export interface FileHolder {
  /** Undefined when the engine's files name no process. */
  readonly pid: number | undefined;
}

/** Reads which process holds the files of an engine. The engine wrote its pid there. */
export async function readFileHolder(enginePath: string): Promise<FileHolder> {
  const status = await readFile(join(enginePath, 'status'), 'utf8').catch(() => '');
  const pid = /PID: (\d+)/u.exec(status)?.[1];
  return { pid: pid === undefined ? undefined : Number(pid) };
}

/** Returns true when the engine of this address answers and accepts the password. */
export async function isAnswering(address: EngineAddress): Promise<boolean> {
  const credentials = Buffer.from(`${address.username}:${address.password}`).toString('base64');
  try {
    const reply = await fetch(`${address.url}/?query=SELECT+1`, {
      headers: { authorization: `Basic ${credentials}` },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    return reply.ok && (await reply.text()).trim() === '1';
  } catch {
    // No process answers, or the process is not an engine: `engine.json` is outdated.
    return false;
  }
}

/**
 * Creates a function that ends a hung engine whose owner has ended. Only the owner of the directory may call it: then no
 * other owner of that engine runs. It ends a process only when `engine.json` of this directory and the engine's files both
 * name it, its start time is the recorded one, and it gave no answer for 5 s.
 */
export function createOrphanEnder(dataDir: string, log: Log): (holder: FileHolder) => Promise<void> {
  const startedAtMs = performance.now();
  return async ({ pid }) => {
    if (pid === undefined || performance.now() - startedAtMs < GRACE_MS) {
      return;
    }
    const address = await readEngineFile(dataDir);
    if (address?.pid !== pid || address.startedAt === undefined || (await isAnswering(address))) {
      return;
    }
    if ((await readProcessStart(pid)) === address.startedAt) {
      log.warn('an engine of this directory whose owner has ended does not answer; it is killed', { pid });
      process.kill(pid, 'SIGKILL');
    }
  };
}

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
