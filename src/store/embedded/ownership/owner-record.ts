import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `starting`: not ready yet. `serving`: ready. `stopping`: finishes its work and then lets go of the directory. */
export type OwnerState = 'starting' | 'serving' | 'stopping';

/** The process that holds the lock of a data directory, as it says of itself in `owner.json`. */
export interface OwnerRecord {
  readonly pid: number;
  /** Name of its machine or container: there, the number means that process. */
  readonly host: string;
  /** `serve`, `backfill`, … */
  readonly command: string;
  readonly state: OwnerState;
}

const STATES: readonly unknown[] = ['starting', 'serving', 'stopping'] satisfies OwnerState[];

function ownerFile(dataDir: string): string {
  return join(dataDir, 'owner.json');
}

/** Writes the record in one step: readers see the old one or the new one. Only for the process that has the lock. */
export function writeOwner(dataDir: string, record: OwnerRecord): void {
  const draft = `${ownerFile(dataDir)}.draft`;
  writeFileSync(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(draft, ownerFile(dataDir));
}

/** Removes the record. Works on a full disk too. */
export function removeOwner(dataDir: string): void {
  rmSync(ownerFile(dataDir), { force: true });
}

/** Shows that the owner still runs: sets the time of the file. False when the file is gone. */
export function beatOwner(dataDir: string): boolean {
  const now = new Date();
  try {
    utimesSync(ownerFile(dataDir), now, now);
    return true;
  } catch {
    // A person has removed it, or the disk has a fault: the lock holds without it.
    return false;
  }
}

/** The record and the time of its last beat; undefined when there is none, or none that can be understood. */
export function readOwner(dataDir: string): { record: OwnerRecord; beatMs: number } | undefined {
  try {
    const beatMs = statSync(ownerFile(dataDir)).mtimeMs;
    const parsed = JSON.parse(readFileSync(ownerFile(dataDir), 'utf8')) as Partial<OwnerRecord> | null;
    const { pid, host, command, state } = parsed ?? {};
    const isWhole = typeof pid === 'number' && typeof host === 'string' && typeof command === 'string';
    return isWhole && STATES.includes(state) ? { record: parsed as OwnerRecord, beatMs } : undefined;
  } catch {
    // Absent, or of something else: the lock alone says that somebody holds the directory.
    return undefined;
  }
}
