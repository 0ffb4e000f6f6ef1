import { randomBytes } from 'node:crypto';
import { totalmem } from 'node:os';
import { AppError, rejectAborted, StoreUnavailableError } from '../../domain/errors.ts';
import { type Log, silentLog } from '../../telemetry/log.ts';
import {
  type EngineAddress,
  engineFolder,
  prepareDirectory,
  readEngineFile,
  removeEngineFile,
  writeEngineFile,
} from './data-folder.ts';
import {
  type EngineExit,
  type EngineProcess,
  EngineSupervisor,
  startEngineProcess,
} from './engine-process.ts';
import { createOrphanEnder, isAnswering, readFileHolder, readProcessStart } from './processes.ts';
import {
  claimDirectory,
  createWaitLogger,
  DEFAULT_PATIENCE_MS,
  type DirectoryClaim,
  type Holder,
  inUseError,
  type OwnerState,
  pause,
} from './claim-directory.ts';
import { MIB } from '../../domain/byte-sizes.ts';

/** ClickHouse on loopback, for `@clickhouse/client`. */
export interface EmbeddedEngine {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Process of the engine; changes with each restart. */
  readonly pid: number;
  /** False after its process has ended, until another one serves. */
  readonly isAlive: boolean;
  /** True while another process starts in place of an ended one. */
  readonly isRestarting: boolean;
  /** Publishes the state of this process for other processes on the directory; `starting` before the first call. */
  mark(state: OwnerState): void;
  /** Stops the engine after its running statements, then releases the directory. */
  stop(): Promise<void>;
}

export interface EmbeddedEngineOptions {
  /** Directory of the engine's files, of `engine.json` and of insert data under way. Created when absent. */
  readonly dataDir: string;
  /** Name of the command, for other processes; default `serve`, which has priority over any other command. */
  readonly command?: string;
  readonly log?: Log;
  /** Memory limit of the whole engine; default: a quarter of the memory, between 768 MiB and 4 GiB. */
  readonly memoryLimitBytes?: number;
  /** Port on 127.0.0.1; default: any free port. */
  readonly port?: number;
  /** User name; default `default`, with a random password. */
  readonly username?: string;
  readonly password?: string;
  /** Called when the engine ended unexpectedly; it restarts on the same port with the same password. */
  readonly onExit?: (exit: EngineExit) => void;
  /** Wait for another process with the directory, milliseconds; default 45 s. */
  readonly patienceMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Called once when a `serve` waits for the directory; never called in a `serve`. */
  readonly onWanted?: () => void;
  /** Module with chdb, for tests of its absence. */
  readonly chdbModule?: string;
}

const USERNAME = 'default';

function defaultMemoryLimitBytes(): number {
  const constrained = process.constrainedMemory();
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.min(4096 * MIB, Math.max(768 * MIB, Math.floor(memory / 4)));
}

/** Returns the address of the engine of another process on a directory; undefined when no engine answers. */
export async function findRunningEngine(dataDir: string): Promise<EngineAddress | undefined> {
  const address = await readEngineFile(dataDir);
  return address !== undefined && (await isAnswering(address)) ? address : undefined;
}

interface OwnContext {
  readonly claim: DirectoryClaim;
  readonly dataDir: string;
  readonly open: OpenOptions;
  readonly options: EmbeddedEngineOptions;
}

async function ownDirectory(
  first: EngineProcess,
  { claim, dataDir, open, options }: OwnContext,
): Promise<EmbeddedEngine> {
  const buildAddress = async (child: EngineProcess): Promise<EngineAddress> => ({
    pid: child.pid,
    startedAt: await readProcessStart(child.pid),
    ownerPid: process.pid,
    url: `http://127.0.0.1:${first.port}`,
    username: open.username,
    password: open.password,
  });
  const address = await buildAddress(first);
  try {
    writeEngineFile(dataDir, address);
  } catch (error) {
    await first.stop(0);
    throw error;
  }
  const supervisor = new EngineSupervisor(first, {
    open: { ...open, port: first.port },
    log: options.log ?? silentLog,
    onExit: (exit) => options.onExit?.(exit),
    onRestart: async (child) => writeEngineFile(dataDir, await buildAddress(child)),
  });
  const stop = async (): Promise<void> => {
    claim.mark('stopping');
    await removeEngineFile(dataDir, address);
    await supervisor.stop();
    claim.release();
  };
  let stopped: Promise<void> | undefined;
  return {
    url: address.url,
    username: address.username,
    password: address.password,
    get pid() {
      return supervisor.pid;
    },
    get isAlive() {
      return supervisor.isAlive;
    },
    get isRestarting() {
      return supervisor.isRestarting;
    },
    mark: (state) => claim.mark(state),
    stop: () => (stopped ??= stop()),
  };
}

function missingError(message: string): AppError {
  return new AppError(
    'The embedded engine needs the optional package chdb, which is not installed or does not run on this system ' +
      '(it exists for Linux with glibc and for macOS). Run `npm install chdb`, or set `store.url` to a ClickHouse server.',
    { code: 'store_missing', stage: 'store', retryable: false, details: { message } },
  );
}

type OpenOptions = Parameters<typeof startEngineProcess>[0];

/** Starts the process of the engine. Returns undefined while the engine of a killed owner still has the files. */
async function tryStart(context: OwnContext): Promise<EmbeddedEngine | undefined> {
  const log = context.options.log ?? silentLog;
  const outcome = await startEngineProcess(context.open, (line) =>
    log.warn('the embedded engine wrote to standard error', { line }),
  );
  if (outcome.ok) {
    return ownDirectory(outcome.process, context);
  }
  if (outcome.reason === 'missing') {
    throw missingError(outcome.message);
  }
  if (outcome.reason === 'port') {
    throw new StoreUnavailableError(
      `The embedded engine cannot be started: ${outcome.message}. Set \`store.port\` to a free port.`,
    );
  }
  if (outcome.reason !== 'locked') {
    throw new StoreUnavailableError(`The embedded engine cannot be started: ${outcome.message}`);
  }
  return undefined;
}

async function startEngine(context: OwnContext, deadlineMs: number): Promise<EmbeddedEngine> {
  const { dataDir, open, options } = context;
  const log = options.log ?? silentLog;
  const tell = createWaitLogger(log);
  const endOrphan = createOrphanEnder(dataDir, log);
  while (true) {
    const engine = await tryStart(context);
    if (engine !== undefined) {
      return engine;
    }
    const fileHolder = await readFileHolder(open.enginePath);
    const holder = fileHolder.pid === undefined ? 'another process' : `process ${fileHolder.pid}`;
    if (performance.now() > deadlineMs) {
      throw inUseError(
        `The engine's files in ${dataDir} are held by ${holder}, which did not end in time: an engine whose owner was ` +
          'killed, or another ClickHouse. End that process, or set `store.dataDir` to another directory.',
      );
    }
    tell(holder);
    await endOrphan(fileHolder);
    await pause(options.signal);
    rejectAborted(options.signal);
  }
}

/** Returns the settings of the child, with defaults. */
function openOptions(dataDir: string, options: EmbeddedEngineOptions): OpenOptions {
  return {
    enginePath: engineFolder(dataDir),
    dataDir,
    port: options.port ?? 0,
    username: options.username ?? USERNAME,
    password: options.password ?? randomBytes(24).toString('base64url'),
    memoryLimitBytes: options.memoryLimitBytes ?? defaultMemoryLimitBytes(),
    chdbModule: options.chdbModule ?? 'chdb',
  };
}

/**
 * Starts the embedded ClickHouse on a free data directory, or waits for an owner that is about to release it. Throws
 * `store_in_use` when a `serve` runs there or the wait is over, `store_missing` when chdb is absent, `config_invalid` when
 * the directory cannot be used, `store_unavailable` when the engine cannot be opened.
 */
export async function startEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const outcome = await startOrFindEngine<never>(options, () => Promise.resolve(undefined));
  return 'engine' in outcome ? outcome.engine : outcome.instead;
}

/** Starts an engine, or returns the result of `findInstead`, which is called while another process owns the directory. */
export async function startOrFindEngine<T>(
  options: EmbeddedEngineOptions,
  findInstead: (holder: Holder) => Promise<T | undefined>,
): Promise<{ readonly engine: EmbeddedEngine } | { readonly instead: T }> {
  const dataDir = await prepareDirectory(options.dataDir);
  const { command = 'serve', patienceMs = DEFAULT_PATIENCE_MS, signal, onWanted, log = silentLog } = options;
  const deadlineMs = performance.now() + patienceMs;
  const wait = { dataDir, command, patienceMs, log, signal, onWanted };
  const outcome = await claimDirectory({ ...wait, findInstead });
  if ('instead' in outcome) {
    return outcome;
  }
  const { claim } = outcome;
  try {
    const open = openOptions(dataDir, options);
    return { engine: await startEngine({ claim, dataDir, open, options }, deadlineMs) };
  } catch (error) {
    claim.release();
    throw error;
  }
}
