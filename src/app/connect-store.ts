import { setTimeout as sleep } from 'node:timers/promises';
import { durationDays, durationMs, type Config } from '../config/index.ts';
import { checkDataDirectory, makeDataDirectory } from '../config/data-directory.ts';
import { readServeFile, removeServeFile, type ServeFile } from '../config/serve-file.ts';
import { AppError, NotFoundError, StoreRejectedError } from '../domain/errors.ts';
import type { ForeignTables } from '../store/foreign/foreign-schema.ts';
import type { Store, StoreOptions } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';

/** How to reach the store that a configuration means. */
export interface StoreConnection {
  readonly options: Omit<StoreOptions, 'migrate' | 'log'>;
  /** For people: `server`, `running serve (pid 7)`, `embedded engine`. */
  readonly kind: string;
  /** The process that hosts the embedded engine; absent where the store is a server or of a running serve. */
  readonly engine?: { readonly pid: number; readonly isAlive: boolean };
  /** Stops the embedded engine if it was started for this. */
  release(): Promise<void>;
  /** True once the process that lent its engine has ended; absent when the store is nobody else's. */
  isLost?(): boolean;
}

export interface ConnectOptions {
  /** True for a command that works on what is stored: nothing is made. Throws `NotFoundError` where there is no store. */
  readonly existing?: boolean;
}

/** A server by its URL; else the engine of a running `serve`; else the embedded engine, started or attached to. */
export async function connectStore(
  config: Config,
  log: Log,
  { existing = false }: ConnectOptions = {},
): Promise<StoreConnection> {
  const { store } = config;
  const retention = {
    spansDays: durationDays(store.retention.spans),
    scoresDays: durationDays(store.retention.scores),
  };
  const { username, password, database } = store;
  const kept = { retention, foreignSpans: foreignTablesOf(store) };
  const nothing = async () => undefined;
  if (store.url !== undefined) {
    return {
      options: { url: store.url, username, password, database, ...kept },
      kind: 'server',
      release: nothing,
    };
  }
  const serve = await findServe(store.dataDir, log);
  if (serve !== undefined) {
    return {
      options: { ...serve.clickhouse, ...kept },
      kind: `running serve (pid ${serve.pid})`,
      release: nothing,
      isLost: () => readServeFile(store.dataDir)?.pid !== serve.pid,
    };
  }
  if (existing) {
    await requireEngineFiles(store.dataDir);
  } else {
    await makeDataDirectory(store.dataDir);
  }
  const { startEmbeddedEngine } = await import('../store/embedded/engine.ts');
  const engine = await startEmbeddedEngine({
    dataDir: store.dataDir,
    log: engineLog(log),
    username,
    ...(password === '' ? {} : { password }),
    ...(store.port === undefined ? {} : { port: store.port }),
  });
  return {
    options: { url: engine.url, username: engine.username, password: engine.password, database, ...kept },
    kind: 'embedded engine',
    engine,
    release: async () => engine.stop(),
  };
}

async function requireEngineFiles(dataDir: string): Promise<void> {
  await checkDataDirectory(dataDir);
  const { hasEngineFiles } = await import('../store/embedded/engine-folder.ts');
  if (!hasEngineFiles(dataDir)) {
    throw new NotFoundError(
      `there is no store in ${dataDir}: spanscore serve makes one; name another folder with --data-dir, or a server with --store-url`,
    );
  }
}

/** Without a database, a table is one of `store.database`, as for every statement. */
function foreignTablesOf({ spans }: Config['store']): ForeignTables | undefined {
  return spans === undefined
    ? undefined
    : { traces: spans.table, logs: spans.logs, lookbackMs: durationMs(spans.lookback) };
}

/** How long the engine of a running `serve` may take to be started again, and how often it is looked after, milliseconds. */
const RESTART_GRACE_MS = 10_000;
const LOOK_EVERY_MS = 200;

/**
 * The running `serve` of a directory, once its store answers. A `serve` that was killed leaves its file behind, and another
 * process may have its number since (in a container always the same, then our own): that file is removed.
 */
async function findServe(dataDir: string, log: Log): Promise<StoringServe | undefined> {
  const { readMigrationStatus } = await import('../store/store.ts');
  const startedMs = performance.now();
  for (let told = false; ; told = true) {
    const serve = readServeFile(dataDir);
    if (!hasStore(serve)) {
      return undefined;
    }
    try {
      await readMigrationStatus(serve.clickhouse);
      return serve;
    } catch (error) {
      if (!isGone(error)) {
        return serve;
      }
      const isOver = performance.now() - startedMs > RESTART_GRACE_MS;
      if (!isRefused(error) || serve.pid === process.pid || isOver) {
        log.warn('the address file of a serve that does not answer is removed', { pid: serve.pid, error });
        removeServeFile(dataDir, serve.pid);
        return undefined;
      }
    }
    if (!told) {
      log.info('the store of the running serve does not answer; it may be starting again', {
        pid: serve.pid,
      });
    }
    await sleep(LOOK_EVERY_MS);
  }
}

type StoringServe = ServeFile & { readonly clickhouse: NonNullable<ServeFile['clickhouse']> };

function hasStore(serve: ServeFile | undefined): serve is StoringServe {
  return serve !== undefined && serve.clickhouse !== null;
}

/** Nobody listens there, or somebody who does not know the password; a store that is slow or newer is still that store. */
function isGone(error: unknown): boolean {
  return isRefused(error) || (error instanceof AppError && !error.retryable && error.code !== 'store_newer');
}

function isRefused(error: unknown): boolean {
  return causesOf(error).some((cause) => 'code' in cause && cause.code === 'ECONNREFUSED');
}

function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

/**
 * Opens the store for a command; with `existing`, throws `NotFoundError` for a database without our tables. Only a new database is given its tables: an older schema is left to `migrate` and `serve`,
 * and the retention of existing tables too, because a command run beside another configuration must not shorten it.
 */
export async function openConnectedStore(
  connection: StoreConnection,
  log: Log,
  { existing = false }: ConnectOptions = {},
): Promise<Store> {
  const { openStore, readMigrationStatus } = await import('../store/store.ts');
  const status = await readMigrationStatus(connection.options);
  if (existing && status.current === 0) {
    throw new NotFoundError(
      `database "${status.database}" of the ${connection.kind} at ${connection.options.url} holds nothing of spanscore: start spanscore serve, or set store.database`,
    );
  }
  if (status.current > 0 && status.current < status.known) {
    throw new StoreRejectedError(
      `database "${status.database}" has schema version ${status.current}, this spanscore needs ${status.known}: run spanscore migrate`,
    );
  }
  return openStore({ ...connection.options, migrate: status.current === 0, log });
}

/** The engine says the fields first. */
function engineLog(log: Log) {
  const at = (level: 'info' | 'warn' | 'error') => (fields: Record<string, unknown>, message: string) =>
    log[level](message, fields);
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
