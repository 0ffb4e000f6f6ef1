import { readFileSync } from 'node:fs';

const EVERY_MS = 250;
const KIB = 1024;

/** Measures the memory of processes. */
export interface MemoryWatch {
  /** Returns the largest resident size of each process name so far, bytes. Empty on systems without /proc. */
  peaks(): ReadonlyMap<string, number>;
  stop(): void;
}

/** Starts the watch. `pids` returns the current processes by name, because processes end and start. */
export function watchMemory(pids: () => ReadonlyMap<string, number | undefined>): MemoryWatch {
  const peaks = new Map<string, number>();
  const look = (): void => {
    for (const [name, pid] of pids()) {
      const bytes = pid === undefined ? 0 : computePeakBytes(pid);
      if (bytes > (peaks.get(name) ?? 0)) {
        peaks.set(name, bytes);
      }
    }
  };
  const timer = setInterval(look, EVERY_MS);
  return {
    peaks: () => peaks,
    stop: () => {
      look();
      clearInterval(timer);
    },
  };
}

/** Returns the peak size of a process, so that peaks between two measurements count; 0 for an ended process. */
function computePeakBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(status)?.[1] ?? 0) * KIB;
  } catch {
    // The process has ended, or this system has no /proc.
    return 0;
  }
}
