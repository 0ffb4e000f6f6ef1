import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Returns the processor time of a process and of all processes that it started, seconds. */
export function readCpuSeconds(pid: number): number {
  return (
    readSeconds(`/proc/${pid}`) + listChildren(pid).reduce((sum, child) => sum + readCpuSeconds(child), 0)
  );
}

export function listChildren(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Returns the resident memory of a process and of all processes that it started, bytes. */
export function readResidentBytes(pid: number): number {
  return (
    readOwnResidentBytes(pid) + listChildren(pid).reduce((sum, child) => sum + readResidentBytes(child), 0)
  );
}

/** Returns the resident memory of a process alone, bytes. */
export function readOwnResidentBytes(pid: number): number {
  return readMemory(pid, 'VmRSS');
}

/** Returns the most resident memory that a process alone ever had, bytes. */
export function readPeakBytes(pid: number): number {
  return readMemory(pid, 'VmHWM');
}

function readMemory(pid: number, figure: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${figure}:\\s+(\\d+)`, 'u').exec(status)?.[1] ?? '0') * 1024;
}

/** Returns the processor time of each thread of a process, seconds, and the name of the thread. */
export function readThreads(pid: number): { id: string; name: string; seconds: number }[] {
  return readdirSync(`/proc/${pid}/task`).map((id) => ({
    id,
    name: readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim(),
    seconds: readSeconds(`/proc/${pid}/task/${id}`),
  }));
}

/** Threads of the engine by their work; the other threads are those of its statements. */
const ENGINE_THREADS: Readonly<Record<string, string>> = {
  MainThread: 'engine: event loop',
  MergeMutate: 'engine: merges',
  BgSchPool: 'engine: background',
  BgStrmSchPool: 'engine: background',
  PoolDelayExec: 'engine: background',
};

/** Names the work of a thread of the engine. */
export function nameEnginePart(thread: string): string {
  return ENGINE_THREADS[thread] ?? 'engine: statements';
}

/** Returns the processor time of `serve` and its engine by part, seconds: the event loop, other threads, and the parts of the engine. */
export function readPartSeconds(pid: number): Map<string, number> {
  const parts = new Map<string, number>();
  const add = (part: string, seconds: number) => parts.set(part, (parts.get(part) ?? 0) + seconds);
  readThreads(pid).forEach(({ id, seconds }) =>
    add(id === String(pid) ? 'serve: event loop' : 'serve: other threads', seconds),
  );
  for (const engine of listChildren(pid)) {
    readThreads(engine).forEach(({ name, seconds }) => add(nameEnginePart(name), seconds));
  }
  return parts;
}

/** Returns the number of open files of a process. */
export function countOpenFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function readSeconds(folder: string): number {
  // The name of the process, in brackets, may hold spaces.
  const fields = readFileSync(`${folder}/stat`, 'utf8')
    .replace(/^.*\) /su, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
