import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, NotFoundError, rejectAborted, StoreRejectedError } from '../../domain/errors.ts';
import type { MigrationStatus } from '../../store/contracts/migrations.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { StoreOptions } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ConnectOptions, StoreConnection } from './connect-store.ts';

/**
 * Opens the store for a command. With `existing`, throws `NotFoundError` for a database without our tables. Creates tables
 * only in a new database. `migrate` and `serve` upgrade an older schema. The retention of existing tables stays too: a
 * command with another configuration must not shorten it.
 */
export async function openConnectedStore(
  connection: StoreConnection,
  log: Log,
  { existing = false }: ConnectOptions = {},
): Promise<Store> {
  const { openStore } = await import('../../store/store.ts');
  const status = await readSchemaStatus(connection);
  if (existing && status.current === 0) {
    throw new NotFoundError(
      `database "${status.database}" of the ${connection.kind} at ${connection.options.url} has no tables of spanscore: start spanscore serve, or set store.database`,
    );
  }
  if (status.current > 0 && status.current < status.known) {
    throw new StoreRejectedError(
      `database "${status.database}" has schema version ${status.current}, but this version of spanscore needs ${status.known}: run spanscore migrate`,
    );
  }
  return openStore({ ...connection.options, migrate: status.current === 0, log });
}

/** Opens the store of a running `serve`. Does not change its schema or its retention. */
export async function openServedStore(
  address: Pick<StoreOptions, 'url' | 'username' | 'password' | 'database'>,
): Promise<Store> {
  const { openStore } = await import('../../store/store.ts');
  return openStore({ ...address, retention: { spansDays: 1, scoresDays: 1 }, migrate: false });
}

/** Reads which migrations the database has and which it lacks. Changes nothing and creates no database. */
export async function readSchemaStatus({ options }: StoreConnection): Promise<MigrationStatus> {
  const { readMigrationStatus } = await import('../../store/store.ts');
  return readMigrationStatus(options);
}

/** Applies every pending migration. Returns the status afterwards. */
export async function migrateStore({ options }: StoreConnection, log: Log): Promise<MigrationStatus> {
  const { openStore, readMigrationStatus } = await import('../../store/store.ts');
  const store = await openStore({ ...options, log });
  await store.close();
  return readMigrationStatus(options);
}

/** Time that our own engine may take to restart while the store is opened, milliseconds. */
const REOPEN_WITHIN_MS = 30_000;
const REOPEN_EVERY_MS = 500;

/**
 * Opens the store of `serve`, with its migrations. The supervisor restarts an embedded engine that ends meanwhile, so
 * opening is retried for 30 s: every statement of a migration can be repeated. Throws at once when a server of `store.url`
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
