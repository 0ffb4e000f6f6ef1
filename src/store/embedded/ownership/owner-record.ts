import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../whole-file.ts';

/** `starting`: not ready yet. `serving`: ready. `stopping`: finishes its work, then releases the directory. */
export type OwnerState = 'starting' | 'serving' | 'stopping';

/** Process that has the lock of a data directory, as written in `owner.json`. */
export interface OwnerRecord {
  readonly pid: number;
  /** Name of its machine or container, where the pid is valid. */
  readonly host: string;
  /** `serve`, `backfill`, … */
  readonly command: string;
  readonly state: OwnerState;
}

const STATES: readonly unknown[] = ['starting', 'serving', 'stopping'] satisfies OwnerState[];

function ownerFile(dataDir: string): string {
  return join(dataDir, 'owner.json');
}

/**
 * Writes the record in one step, so readers see either the old or the new record. Only the process with the lock may call
 * it.
 */
export function writeOwner(dataDir: string, record: OwnerRecord): void {
  writeWhole(ownerFile(dataDir), `${JSON.stringify(record)}\n`);
}

/** Removes the record. Works on a full disk too. */
export function removeOwner(dataDir: string): void {
  rmSync(ownerFile(dataDir), { force: true });
}

/** Sets the time of the file, to show that the owner runs. Returns false when the file is gone. */
export function beatOwner(dataDir: string): boolean {
  const now = new Date();
  try {
    utimesSync(ownerFile(dataDir), now, now);
    return true;
  } catch {
    // The file was removed, or the disk has an error: the lock is still valid.
    return false;
  }
}

/** Reads the record and the time of its last beat. Undefined when there is no record or it is unreadable. */
export function readOwner(dataDir: string): { record: OwnerRecord; beatMs: number } | undefined {
  try {
    const beatMs = statSync(ownerFile(dataDir)).mtimeMs;
    const parsed = JSON.parse(readFileSync(ownerFile(dataDir), 'utf8')) as Partial<OwnerRecord> | null;
    const { pid, host, command, state } = parsed ?? {};
    const isWhole = typeof pid === 'number' && typeof host === 'string' && typeof command === 'string';
    return isWhole && STATES.includes(state) ? { record: parsed as OwnerRecord, beatMs } : undefined;
  } catch {
    // Without a readable record, only the lock shows that a process owns the directory.
    return undefined;
  }
}
