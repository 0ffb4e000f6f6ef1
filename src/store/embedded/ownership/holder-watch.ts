import { hostname } from 'node:os';
import { readOwner, type OwnerRecord } from './owner-record.ts';

/** Process that owns a directory, as another process sees it. */
export interface Holder {
  /** Undefined when the process has the lock but has not written its first record. */
  readonly record?: OwnerRecord;
  /** False when the beats stopped: the process is suspended, in a debugger, or hangs. */
  readonly isBeating: boolean;
}

/** The time of five missed beats. */
const FRESH_MS = 5_000;

/**
 * Watches the owner of a directory. A beat counts as recent by its age. When the clocks of two machines differ, a change
 * since the last read counts too.
 */
export function watchHolder(dataDir: string, now: () => number = Date.now): () => Holder {
  let lastBeatMs: number | undefined;
  return () => {
    const owner = readOwner(dataDir);
    if (owner === undefined) {
      return { isBeating: true };
    }
    const { record, beatMs } = owner;
    const isFresh = Math.abs(now() - beatMs) < FRESH_MS;
    const hasChanged = lastBeatMs !== undefined && lastBeatMs !== beatMs;
    lastBeatMs = beatMs;
    return { record, isBeating: isFresh || hasChanged };
  };
}

/** Returns a name of the owner for messages: its pid, and its machine when it is another machine. */
export function nameOfHolder({ record }: Holder): string {
  if (record === undefined) {
    return 'another process';
  }
  const { pid, host } = record;
  return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

/** Returns the reason why the owner has not released the directory. */
export function stateOfHolder({ record, isBeating }: Holder): string {
  if (record === undefined) {
    return 'that process is unknown; if there is none, the file system of the directory may not support locks';
  }
  if (!isBeating) {
    return 'it does not answer';
  }
  const { command, state } = record;
  return command !== 'serve' && state === 'serving' ? `it runs spanscore ${command}` : `it is ${state}`;
}
