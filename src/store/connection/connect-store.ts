import { checkDataDirectory, createDataDirectory } from '../../config/data-folder.ts';
import { durationDays, durationMs, type Config } from '../../configuration.ts';
import {
  ConfigError,
  InvalidInputError,
  NotFoundError,
  AppError,
  rejectAborted,
  StoreRejectedError,
  StoreUnavailableError,
} from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import type { ReadinessCheck } from '../../domain/readiness-check.ts';
import type { ReadingTerms } from '../../domain/trace/span.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Reading } from '../../telemetry/metrics.ts';
import { residentBytes } from '../../telemetry/process-readings.ts';
import type { SchemaStatus } from '../contracts/stores.ts';
import type { Store, StoreOptions } from '../store.ts';
import type { EmbeddedEngine, EmbeddedEngineOptions } from '../embedded/engine.ts';
import type { ForeignTables } from '../foreign/foreign-schema.ts';
import { findServe, hasLeft, readAnsweringServe, waitForServe, type StoringServe } from './running-serve.ts';
import { setTimeout as sleep } from 'node:timers/promises';

export interface StoreConnection {
  readonly options: Omit<StoreOptions, 'migrate' | 'log'>;
  /** Kind of store for people: `server`, `running serve (pid 7)`, `embedded engine`. */
  readonly kind: string;
  /** Embedded engine that this process hosts; undefined when the store is a server or belongs to another process. */
  readonly engine?: EmbeddedEngine;
  /** Stops the embedded engine if it was started for this connection. */
  release(): Promise<void>;
  /** True once the process that owns the engine has ended; undefined when no other process owns the store. */
  isLost?(): boolean;
}

export interface ConnectOptions {
  /** True for a command on existing data: it creates nothing. Throws a `NotFoundError` when there is no store. */
  readonly existing?: boolean;
}

/** Command that needs the store. */
export interface StoreUser extends ConnectOptions {
  /** Name of the command: `serve`, `backfill`, … */
  readonly command: string;
  /** Ends the wait for another process. */
  readonly signal?: AbortSignal;
  /** Called once when a `serve` waits for the engine of this command. */
  readonly onWanted?: () => void;
}

/**
 * Connects a command: to a server by its URL, else to the engine of another process on the directory, else to its own
 * engine.
 */
export async function connectStore(
  config: Config,
  log: Log,
  user: StoreUser = { command: 'command' },
): Promise<StoreConnection> {
  const { dataDir, url } = config.store;
  if (url !== undefined) {
    return serverConnection(config, url);
  }
  const serve = await findServe(dataDir, log);
  if (serve !== undefined) {
    return sharedConnection(config, serve);
  }
  if (user.existing === true) {
    await requireEngineFiles(dataDir);
  } else {
    await createDataDirectory(dataDir);
  }
  const { findRunningEngine, startOrFindEngine } = await import('../embedded/engine.ts');
  const outcome = await startOrFindEngine(engineOptions(config, log, user), async ({ record }) => {
    if (record?.state !== 'serving') {
      return undefined;
    }
    const found = await readAnsweringServe(dataDir);
    if (found !== undefined) {
      return sharedConnection(config, found);
    }
    const address = await findRunningEngine(dataDir);
    return address === undefined
      ? undefined
      : {
          options: storeOptions(config, address),
          kind: `engine of process ${record.pid}`,
          release: closeNothing,
        };
  });
  if ('instead' in outcome) {
    return outcome.instead;
  }
  outcome.engine.mark('serving');
  return ownConnection(config, outcome.engine);
}

/** Connects `serve`: to a server by its URL, else to its own engine, never to the engine of another process. */
export async function connectOwnStore(
  config: Config,
  log: Log,
  signal?: AbortSignal,
): Promise<StoreConnection> {
  const { url } = config.store;
  if (url !== undefined) {
    return serverConnection(config, url);
  }
  await refuseMoved(config.store.dataDir);
  const { startEmbeddedEngine } = await import('../embedded/engine.ts');
  const user = { command: 'serve', ...(signal === undefined ? {} : { signal }) };
  const engine = await startEmbeddedEngine(engineOptions(config, log, user));
  try {
    // A move may have ended while its engine was waited for.
    await refuseMoved(config.store.dataDir);
  } catch (error) {
    await engine.stop();
    throw error;
  }
  return ownConnection(config, engine);
}

async function refuseMoved(dataDir: string): Promise<void> {
  const { formatMoved, readMoved } = await import('../embedded/data-folder.ts');
  const moved = readMoved(dataDir);
  if (moved !== undefined) {
    throw new ConfigError(`data directory ${dataDir}: ${formatMoved(moved)}`);
  }
}

/** Connects a command to its own engine. No other process can use the store meanwhile. Throws while another one uses it. */
export async function connectAlone(config: Config, log: Log, user: StoreUser): Promise<StoreConnection> {
  const { dataDir } = config.store;
  await (user.existing === true ? requireEngineFiles(dataDir) : createDataDirectory(dataDir));
  const { startOrFindEngine } = await import('../embedded/engine.ts');
  const outcome = await startOrFindEngine<never>(engineOptions(config, log, user), async ({ record }) => {
    if (record?.state === 'serving') {
      throw new InvalidInputError(
        `${record.command} (pid ${record.pid}) uses the store in ${dataDir}: stop it, and run spanscore ${user.command} again`,
      );
    }
    return undefined;
  });
  // Never marked as serving: other commands wait.
  return ownConnection(config, 'engine' in outcome ? outcome.engine : outcome.instead);
}

/** Connects `serve` without the role `store`: to a server by its URL, else to the store of the `serve` with this role. */
export async function connectLentStore(
  config: Config,
  log: Log,
  signal?: AbortSignal,
): Promise<StoreConnection> {
  const { dataDir, url } = config.store;
  return url === undefined
    ? sharedConnection(config, await waitForServe(dataDir, log, signal))
    : serverConnection(config, url);
}

async function closeNothing(): Promise<void> {
  // The store belongs to another process.
}

/** Returns the settings with which traces are read, of a store and of files. */
export function readingTerms({ conventions, scoring: { readByShape } }: Config): ReadingTerms {
  return {
    ...(conventions.length === 0 ? {} : { conventions }),
    ...(readByShape ? {} : { readByShape }),
  };
}

function storeOptions(
  config: Config,
  { url, username, password }: { url: string; username: string; password: string },
): StoreConnection['options'] {
  const { store, scoring } = config;
  const retention = {
    spansDays: durationDays(store.retention.spans),
    scoresDays: durationDays(store.retention.scores),
    catchUpDays: durationDays(scoring.catchUp),
  };
  const foreignSpans = findForeignTables(store);
  return {
    url,
    username,
    password,
    database: store.database,
    replicated: store.replicated,
    retention,
    foreignSpans,
    reading: readingTerms(config),
  };
}

function serverConnection(config: Config, url: string): StoreConnection {
  const { username, password } = config.store;
  return {
    options: storeOptions(config, { url, username, password }),
    kind: 'server',
    release: closeNothing,
  };
}

function sharedConnection(config: Config, { pid, clickhouse }: StoringServe): StoreConnection {
  return {
    options: { ...storeOptions(config, clickhouse), database: clickhouse.database },
    kind: `running serve (pid ${pid})`,
    release: closeNothing,
    isLost: () => hasLeft(config.store.dataDir, pid),
  };
}

function ownConnection(config: Config, engine: EmbeddedEngine): StoreConnection {
  return {
    options: storeOptions(config, engine),
    kind: 'embedded engine',
    engine,
    release: async () => engine.stop(),
  };
}

async function requireEngineFiles(dataDir: string): Promise<void> {
  await checkDataDirectory(dataDir);
  const { hasEngineFiles } = await import('../embedded/data-folder.ts');
  if (!hasEngineFiles(dataDir)) {
    throw new NotFoundError(
      `there is no store in ${dataDir}: spanscore serve creates one; or name another data directory with --data-dir, or a server with --store-url`,
    );
  }
}

function engineOptions({ store }: Config, log: Log, user: StoreUser): EmbeddedEngineOptions {
  const { dataDir, username, password, port } = store;
  const { command, signal, onWanted } = user;
  return {
    command,
    ...(signal === undefined ? {} : { signal }),
    ...(onWanted === undefined ? {} : { onWanted }),
    dataDir,
    log,
    username,
    ...(password === '' ? {} : { password }),
    // The port is for other programs beside `serve`. A command on another data directory may run beside it.
    ...(port === undefined || command !== 'serve' ? {} : { port }),
  };
}

/**
 * Returns the foreign tables from the configuration, undefined without any. A table without a database name belongs to
 * `store.database`.
 */
function findForeignTables({ spans }: Config['store']): ForeignTables | undefined {
  return spans === undefined
    ? undefined
    : { traces: spans.table, logs: spans.logs, lookbackMs: durationMs(spans.lookback) };
}

/**
 * Opens the store for a command. With `existing`, throws `NotFoundError` for a database without our tables. Creates tables
 * only in a new database. The retention of existing tables stays: a command with another configuration must not shorten it.
 */
export async function openConnectedStore(
  connection: StoreConnection,
  log: Log,
  { existing = false }: ConnectOptions = {},
): Promise<Store> {
  const { openStore } = await import('../store.ts');
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
  const { openStore } = await import('../store.ts');
  return openStore({ ...address, retention: { spansDays: 1, scoresDays: 1 }, migrate: false });
}

/** Compares the schema of the store with the schema of this program. Changes nothing and creates no database. */
export async function readSchemaStatus({ options }: StoreConnection): Promise<SchemaStatus> {
  const { readStoreSchema } = await import('../store.ts');
  return readStoreSchema(options);
}

/** Creates the tables that the store lacks. Returns the status afterwards. */
export async function migrateStore({ options }: StoreConnection, log: Log): Promise<SchemaStatus> {
  const { openStore, readStoreSchema } = await import('../store.ts');
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
  const { openStore } = await import('../store.ts');
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

type Engine = NonNullable<StoreConnection['engine']>;

/**
 * Creates a check that fails while the embedded engine does not run. Its message says whether the engine is starting again.
 */
export function engineCheck(engine: Engine): ReadinessCheck {
  return {
    name: 'engine',
    check: async () => {
      if (!engine.isAlive) {
        throw new StoreUnavailableError(
          engine.isRestarting
            ? 'the embedded engine has ended and is starting again'
            : 'the embedded engine has ended: this process is stopping',
        );
      }
    },
  };
}

/** Returns the metrics of the process of the embedded engine: alive, and its memory when the system reports it. */
export async function engineReadings(engine: Engine): Promise<Reading[]> {
  const resident = engine.isAlive ? await residentBytes(engine.pid) : undefined;
  return [
    { name: 'spanscore.engine.up', value: engine.isAlive ? 1 : 0 },
    ...(resident === undefined ? [] : [{ name: 'spanscore.engine.memory.usage', value: resident } as const]),
  ];
}
