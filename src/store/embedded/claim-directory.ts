import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError, rejectAborted } from '../../domain/errors.ts';
import { sleep } from '../../domain/waits.ts';
import { writeWhole } from './data-folder.ts';
import type { Log } from '../../telemetry/log.ts';
import { type FileLock, tryFileLock } from './file-lock.ts';

/**
 * Data directory that this process owns: no other process starts an engine on it before `release` or the end of this
 * process.
 */
export interface DirectoryClaim {
  /** Publishes the state of this process for other processes. */
  mark(state: OwnerState): void;
  release(): void;
}

export interface ClaimOptions<T> {
  readonly dataDir: string;
  /** Name of the command, for other processes: `serve`, `backfill`, … A `serve` has priority over any other command. */
  readonly command: string;
  /** Time that the current owner may take to release the directory, milliseconds. */
  readonly patienceMs: number;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
  /** Called once when a `serve` waits for the directory of this command. */
  readonly onWanted?: (() => void) | undefined;
  /** Finds a result to use instead of a claim while another process owns the directory. */
  readonly findInstead?: ((holder: Holder) => Promise<T | undefined>) | undefined;
}

export type ClaimOutcome<T> = { readonly claim: DirectoryClaim } | { readonly instead: T };

/** Time of a restart: a `serve` ends within 30 s of its signal, and its engine within 10 s more. */
export const DEFAULT_PATIENCE_MS = 45_000;
const RETRY_MS = 200;
const BEAT_MS = 1_000;

/**
 * Claims a data directory; waits for an owner that is about to release it. Throws `store_in_use` at once when both
 * processes are a `serve` and the other one serves, else after `patienceMs`. Throws `cancelled` at the signal.
 */
export async function claimDirectory<T = never>(options: ClaimOptions<T>): Promise<ClaimOutcome<T>> {
  const { dataDir, command, patienceMs, signal } = options;
  const look = watchHolder(dataDir);
  const startedAtMs = performance.now();
  const tell = createWaitLogger(options.log);
  // A waiting `serve` also holds a lock: it tells commands to stop.
  const queue = queuePath(dataDir);
  let place: FileLock | undefined;
  try {
    while (true) {
      rejectAborted(signal);
      const claim = tryClaim(options);
      if (claim !== undefined) {
        return { claim };
      }
      const holder = look();
      if (command === 'serve') {
        rejectServing(holder, dataDir);
        place ??= tryFileLock(queue);
      }
      const instead = await options.findInstead?.(holder);
      if (instead !== undefined) {
        return { instead };
      }
      if (performance.now() - startedAtMs > patienceMs) {
        throw notReleasedError(holder, dataDir, patienceMs);
      }
      tell(nameOfHolder(holder), isUsable(holder, command) ? 'answer' : 'stop');
      await pause(signal);
    }
  } finally {
    place?.release();
  }
}

/** Returns true while any process owns the directory. */
export function isHeld(dataDir: string): boolean {
  const lock = tryFileLock(lockPath(dataDir));
  lock?.release();
  return lock === undefined;
}

/** Waits a moment; the signal ends the wait. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  await sleep(RETRY_MS, signal);
}

/** Logs each process that delays the claim once, and again when the expected event changes. */
export function createWaitLogger(log: Log): (name: string, expected?: string) => void {
  let logged: string | undefined;
  return (name, expected = 'stop') => {
    const message = `waiting for ${name} to ${expected}`;
    if (logged !== message) {
      logged = message;
      log.warn(message);
    }
  };
}

export function inUseError(message: string): AppError {
  return new AppError(message, { code: 'store_in_use', stage: 'store', retryable: true });
}

function lockPath(dataDir: string): string {
  return join(dataDir, 'owner.lock');
}

function queuePath(dataDir: string): string {
  return join(dataDir, 'owner-next.lock');
}

function isWanted(dataDir: string): boolean {
  const lock = tryFileLock(queuePath(dataDir));
  lock?.release();
  return lock === undefined;
}

/** Returns undefined when another process owns the directory, or when this is a command and a `serve` waits. */
function tryClaim({ dataDir, command, onWanted }: ClaimOptions<unknown>): DirectoryClaim | undefined {
  const lock = tryFileLock(lockPath(dataDir));
  if (lock === undefined) {
    return undefined;
  }
  if (command !== 'serve' && isWanted(dataDir)) {
    lock.release();
    return undefined;
  }
  return holdDirectory(dataDir, { lock, command, onWanted });
}

interface Hold {
  readonly lock: FileLock;
  readonly command: string;
  readonly onWanted: (() => void) | undefined;
}

function holdDirectory(dataDir: string, { lock, command, onWanted }: Hold): DirectoryClaim {
  let record: OwnerRecord = { pid: process.pid, host: hostname(), command, state: 'starting' };
  const publish = (): void => {
    try {
      writeOwner(dataDir, record);
    } catch {
      // The disk is full: no record is better than an old one. Other processes see the lock and wait.
      removeOwner(dataDir);
    }
  };
  let wasWanted = false;
  const beat = (): void => {
    if (!beatOwner(dataDir)) {
      publish();
    }
    if (onWanted !== undefined && !wasWanted && isWanted(dataDir)) {
      wasWanted = true;
      onWanted();
    }
  };
  publish();
  const beating = setInterval(beat, BEAT_MS);
  beating.unref();
  return {
    mark(state) {
      record = { ...record, state };
      publish();
    },
    release() {
      clearInterval(beating);
      removeOwner(dataDir);
      lock.release();
    },
  };
}

/** Commands use the engine of a process that serves; a `serve` never does. */
function isUsable({ record }: Holder, command: string): boolean {
  return command !== 'serve' && record?.state === 'serving';
}

function rejectServing(holder: Holder, dataDir: string): void {
  const { record, isBeating } = holder;
  if (record?.command === 'serve' && record.state === 'serving' && isBeating) {
    throw inUseError(
      `${nameOfHolder(holder)} serves the data directory ${dataDir} already. Stop it (kill ${record.pid}), ` +
        'or set `store.dataDir` to another directory.',
    );
  }
}

function notReleasedError(holder: Holder, dataDir: string, patienceMs: number): AppError {
  const end = holder.record === undefined ? '' : ` (kill -9 ${holder.record.pid})`;
  return inUseError(
    `The data directory ${dataDir} belongs to ${nameOfHolder(holder)}, which did not release it within ${patienceMs / 1000} s: ` +
      `${stateOfHolder(holder)}. End that process${end}, or set \`store.dataDir\` to another directory.`,
  );
}

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
