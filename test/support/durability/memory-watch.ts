import { readFileSync } from 'node:fs';

const EVERY_MS = 250;
const KIB = 1024;

/** Looks at how much memory processes hold. */
export interface MemoryWatch {
  /** The largest resident size of each name's processes so far, bytes. Empty where the system does not tell (no /proc). */
  peaks(): ReadonlyMap<string, number>;
  stop(): void;
}

/** Watches processes by name; `pids` tells which they are now, since they come and go. */
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

/** The most that a process ever held, so that what happened between two looks counts; 0 for one that is gone. */
function computePeakBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(status)?.[1] ?? 0) * KIB;
  } catch {
    // It has ended, or this system has no /proc.
    return 0;
  }
}
