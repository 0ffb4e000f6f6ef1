import { hostname } from 'node:os';
import { readOwner, type OwnerRecord } from './owner-record.ts';

/** The process that holds a directory, seen from outside. */
export interface Holder {
  /** Absent in the moment between its lock and its first record. */
  readonly record?: OwnerRecord;
  /** False when it shows no sign of life: stopped by a signal, in a debugger, or hung. */
  readonly isBeating: boolean;
}

/** Five missed beats. */
const FRESH_MS = 5_000;

/** Watches who holds a directory. A beat is told by its age or, where clocks differ, by its change from look to look. */
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

/** Names the holder for people: its number, and its machine when that is another one. */
export function nameOfHolder({ record }: Holder): string {
  if (record === undefined) {
    return 'another process';
  }
  const { pid, host } = record;
  return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

/** Tells why the holder has not let go. */
export function stateOfHolder({ record, isBeating }: Holder): string {
  if (record === undefined) {
    return 'nothing tells which; if there is none, the file system of the directory may have no locks';
  }
  if (!isBeating) {
    return 'it does not answer';
  }
  const { command, state } = record;
  return command !== 'serve' && state === 'serving' ? `it runs spanscore ${command}` : `it is ${state}`;
}
