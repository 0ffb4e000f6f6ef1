import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, rejectAborted } from '../../../domain/errors.ts';
import type { EngineLog } from '../engine-supervisor.ts';
import { tryFileLock, type FileLock } from './file-lock.ts';
import { nameOfHolder, stateOfHolder, watchHolder, type Holder } from './holder-watch.ts';
import { beatOwner, removeOwner, writeOwner, type OwnerRecord, type OwnerState } from './owner-record.ts';

/** A data directory that this process holds: nobody else starts an engine on it before `release` or our end. */
export interface DirectoryClaim {
  /** Tells other processes in what state this one is. */
  mark(state: OwnerState): void;
  release(): void;
}

export interface ClaimOptions<T> {
  readonly dataDir: string;
  /** Name of the claiming command, for others: `serve`, `backfill`, … A `serve` goes before every other command. */
  readonly command: string;
  /** Time that a holder may take to release the directory, milliseconds. */
  readonly patienceMs: number;
  readonly log: EngineLog;
  readonly signal?: AbortSignal | undefined;
  /** Told once when a `serve` waits for the directory that this command holds. */
  readonly onWanted?: (() => void) | undefined;
  /** Finds something that does instead of a claim, as long as another process holds the directory. */
  readonly findInstead?: ((holder: Holder) => Promise<T | undefined>) | undefined;
}

export type ClaimOutcome<T> = { readonly claim: DirectoryClaim } | { readonly instead: T };

/** A restart: a `serve` ends within 30 s of its signal, and its engine within 10 s more. */
export const DEFAULT_PATIENCE_MS = 45_000;
const RETRY_MS = 200;
const BEAT_MS = 1_000;

/**
 * Claims a data directory, and waits for a holder that is about to let go. Throws `store_in_use` at once when another
 * `serve` serves there and this is one too, and after `patienceMs` in any case; `cancelled` at the signal.
 */
export async function claimDirectory<T = never>(options: ClaimOptions<T>): Promise<ClaimOutcome<T>> {
  const { dataDir, command, patienceMs, signal } = options;
  const look = watchHolder(dataDir);
  const startedAtMs = performance.now();
  const tell = createWaitTeller(options.log);
  // A `serve` that waits holds a lock as well: commands see by it that they have to make room.
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

/** Returns true while any process holds the directory. */
export function isHeld(dataDir: string): boolean {
  const lock = tryFileLock(lockPath(dataDir));
  lock?.release();
  return lock === undefined;
}

/** Waits a moment, shorter at the signal. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  await sleep(RETRY_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

/** Logs each process once that is waited for, and again when something else is expected of it. */
export function createWaitTeller(log: EngineLog): (name: string, expected?: string) => void {
  let told: string | undefined;
  return (name, expected = 'stop') => {
    const message = `waiting for ${name} to ${expected}`;
    if (told !== message) {
      told = message;
      log.warn({}, message);
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

/** Undefined when another process holds the directory, or when this is a command and a `serve` waits for it. */
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
      // A full disk: better no word than an old one. Others see the lock, and wait.
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
    `The data directory ${dataDir} is held by ${nameOfHolder(holder)}, which did not let go within ${patienceMs / 1000} s: ` +
      `${stateOfHolder(holder)}. End that process${end}, or set \`store.dataDir\` to another directory.`,
  );
}
