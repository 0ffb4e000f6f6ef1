import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, NotFoundError, rejectAborted, StoreRejectedError } from '../../domain/errors.ts';
import type { SchemaStatus } from '../../store/contracts/schema-status.ts';
import { formatCount } from '../../domain/plural.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { StoreOptions } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ConnectOptions, StoreConnection } from './connect-store.ts';

/**
 * Opens the store for a command. With `existing`, throws `NotFoundError` for a database without our tables. Creates tables
 * only in a new database. The retention of existing tables stays: a command with another configuration must not shorten it.
 */
export async function openConnectedStore(
  connection: StoreConnection,
  log: Log,
  { existing = false }: ConnectOptions = {},
): Promise<Store> {
  const { openStore } = await import('../../store/store.ts');
  const status = await readSchemaStatus(connection);
  if (existing && status.state === 'empty') {
    throw new NotFoundError(
      `database "${status.database}" of the ${connection.kind} at ${connection.options.url} has no tables of spanscore: start spanscore serve, or set store.database`,
    );
  }
  if (status.state === 'incomplete') {
    throw new StoreRejectedError(
      `database "${status.database}" lacks ${formatCount(status.pending.length, 'table')} of this version: run spanscore migrate`,
    );
  }
  return openStore({ ...connection.options, migrate: status.state === 'empty', log });
}

/** Opens the store of a running `serve`. Does not change its schema or its retention. */
export async function openServedStore(
  address: Pick<StoreOptions, 'url' | 'username' | 'password' | 'database'>,
): Promise<Store> {
  const { openStore } = await import('../../store/store.ts');
  return openStore({ ...address, retention: { spansDays: 1, scoresDays: 1 }, migrate: false });
}

/** Compares the schema of the store with the schema of this program. Changes nothing and creates no database. */
export async function readSchemaStatus({ options }: StoreConnection): Promise<SchemaStatus> {
  const { readStoreSchema } = await import('../../store/store.ts');
  return readStoreSchema(options);
}

/** Creates the tables that the store lacks. Returns the status afterwards. */
export async function migrateStore({ options }: StoreConnection, log: Log): Promise<SchemaStatus> {
  const { openStore, readStoreSchema } = await import('../../store/store.ts');
  const store = await openStore({ ...options, log });
  await store.close();
  return readStoreSchema(options);
}

/** Time that our own engine may take to restart while the store is opened, milliseconds. */
const REOPEN_WITHIN_MS = 30_000;
const REOPEN_EVERY_MS = 500;

/**
 * Opens the store of `serve`, and creates its tables. The supervisor restarts an embedded engine that ends meanwhile, so
 * opening is retried for 30 s: every statement of the schema can be repeated. Throws at once when a server of `store.url`
 * does not answer.
 */
export async function openOwnStore(
  { engine, options }: StoreConnection,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<Store> {
  const { openStore } = await import('../../store/store.ts');
  const startedMs = performance.now();
  while (true) {
    try {
      return await openStore({ ...options, log });
    } catch (error) {
      const isWorthATry = engine !== undefined && error instanceof AppError && error.retryable;
      if (!isWorthATry || performance.now() - startedMs > REOPEN_WITHIN_MS) {
        throw error;
      }
      log.warn('the store cannot be opened yet; it is tried again', { error });
      await sleep(REOPEN_EVERY_MS);
      rejectAborted(signal);
    }
  }
}
