import { readServeFile, removeServeFile, type ServeFile } from '../../config/serve-file.ts';
import { AppError, rejectAborted, StoreUnavailableError, listCauses } from '../../domain/errors.ts';
import { isObject } from '../../domain/unknown-values.ts';
import type { Log } from '../../telemetry/log.ts';
import { DEFAULT_PATIENCE_MS, isHeld, pause } from '../embedded/ownership/claim-directory.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** A running `serve` with a store. */
export type StoringServe = ServeFile & { readonly clickhouse: NonNullable<ServeFile['clickhouse']> };

/** Limit of the wait for a store that does not answer and whose directory has no owner (a server), milliseconds. */
const RESTART_GRACE_MS = 10_000;
const LOOK_EVERY_MS = 200;

/**
 * Returns the running `serve` of a directory once its store answers; undefined when only the lock of the directory can
 * decide. A killed `serve` leaves its file behind, and another process may have its pid by now (in a container this can be
 * our own pid); such a file is removed.
 */
export async function findServe(dataDir: string, log: Log): Promise<StoringServe | undefined> {
  const startedMs = performance.now();
  for (let isLogged = false; ; isLogged = true) {
    const serve = readServeFile(dataDir);
    if (!hasStore(serve)) {
      return undefined;
    }
    const fault = await findFault(serve);
    if (fault === undefined) {
      return serve;
    }
    // Its engine is starting again, or the process is about to end.
    if (isHeld(dataDir)) {
      return undefined;
    }
    const isOver = performance.now() - startedMs > RESTART_GRACE_MS;
    if (!isRefused(fault) || serve.pid === process.pid || isOver) {
      log.warn('removed the address file of a serve that does not answer', {
        pid: serve.pid,
        error: fault,
      });
      removeServeFile(dataDir, serve.pid);
      return undefined;
    }
    if (!isLogged) {
      log.info('the store of the running serve does not answer; it may be starting again', {
        pid: serve.pid,
      });
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** Returns the running `serve` of a directory if its store answers now. */
export async function readAnsweringServe(dataDir: string): Promise<StoringServe | undefined> {
  const serve = readServeFile(dataDir);
  return hasStore(serve) && (await findFault(serve)) === undefined ? serve : undefined;
}

/** Waits for a `serve` with a store. Throws `store_unavailable` when none starts, `cancelled` at the signal. */
export async function waitForServe(
  dataDir: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<StoringServe> {
  const startedMs = performance.now();
  for (let isLogged = false; ; isLogged = true) {
    rejectAborted(signal);
    const serve = await readAnsweringServe(dataDir);
    if (serve !== undefined) {
      return serve;
    }
    if (performance.now() - startedMs > DEFAULT_PATIENCE_MS) {
      throw new StoreUnavailableError(
        `no serve with the role store runs on the data directory ${dataDir}: start one, add store to --role, or set store.url`,
      );
    }
    if (!isLogged) {
      log.warn('waiting for a serve with the role store on this data directory', { dataDir });
    }
    await pause(signal);
  }
}

/** True when the address file belongs to another process now, or the process has ended. */
export function hasLeft(dataDir: string, pid: number): boolean {
  return readServeFile(dataDir)?.pid !== pid;
}

function hasStore(serve: ServeFile | undefined): serve is StoringServe {
  return serve !== undefined && serve.clickhouse !== null;
}

/** Returns the reason why a store cannot be used; undefined when it answers, whatever its schema. A slow store can be used. */
async function findFault({ clickhouse }: StoringServe): Promise<unknown> {
  const { readStoreSchema } = await import('../store.ts');
  try {
    await readStoreSchema(clickhouse);
    return undefined;
  } catch (error) {
    return isGone(error) ? error : undefined;
  }
}

/**
 * True when no process listens, or the listener does not know the password. A slow store is still the same store.
 */
function isGone(error: unknown): boolean {
  return isRefused(error) || (error instanceof AppError && !error.retryable);
}

function isRefused(error: unknown): boolean {
  return listCauses(error).some((cause) => isObject(cause) && cause['code'] === 'ECONNREFUSED');
}
