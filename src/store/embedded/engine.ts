import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, ConfigError, messageOf, StoreUnavailableError } from '../../domain/errors.ts';
import { engineFolder } from './engine-folder.ts';
import { readEngineFile, removeEngineFile, writeEngineFile, type EngineAddress } from './engine-file.ts';
import { launchEngineProcess, type EngineProcess } from './engine-process.ts';
import { EngineSupervisor, type EngineExit, type EngineLog } from './engine-supervisor.ts';

/** A ClickHouse on loopback, for `@clickhouse/client`. */
export interface EmbeddedEngine {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** The process that hosts the engine now; changes when it is started again. */
  readonly pid: number;
  /** False while its process has ended and none serves in its place yet. */
  readonly isAlive: boolean;
  /** False when another process started the engine of this directory and this one only uses it. */
  readonly owned: boolean;
  /** Stops the engine if it is owned, after the statements that run have ended; else does nothing. */
  stop(): Promise<void>;
}

export interface EmbeddedEngineOptions {
  /** Holds everything: the engine's files, `engine.json`, insert data on its way. Made when absent. */
  readonly dataDir: string;
  readonly log?: EngineLog;
  /** The engine's limit over everything; default: a quarter of the memory, between 768 MiB and 4 GiB. */
  readonly memoryLimitBytes?: number;
  /** Where on 127.0.0.1 it listens, when this process owns it; default: any free port. */
  readonly port?: number;
  /** What others have to know to use it, when this process owns it; default: `default`, and a random password. */
  readonly username?: string;
  readonly password?: string;
  /** Told when an owned engine died unasked; it is started again on the same port with the same password. */
  readonly onExit?: (exit: EngineExit) => void;
  /** How long to wait for a directory whose holder does not answer; default 15 s. */
  readonly lockTimeoutMs?: number;
  /** The module that holds chdb, for tests of its absence. */
  readonly chdbModule?: string;
}

const USERNAME = 'default';
const LOCK_TIMEOUT_MS = 15_000;
const LOCK_RETRY_MS = 200;
/** For so long the state of the owner is believed: one that lives will bring its engine back, one that is dead has none. */
const OWNER_GRACE_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
const MIB = 1024 * 1024;
const SILENT: EngineLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

function defaultMemoryLimitBytes(): number {
  const constrained = process.constrainedMemory();
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.min(4096 * MIB, Math.max(768 * MIB, Math.floor(memory / 4)));
}

/** Whether the engine of this address answers and takes the password. */
async function answers(address: EngineAddress): Promise<boolean> {
  const credentials = Buffer.from(`${address.username}:${address.password}`).toString('base64');
  try {
    const reply = await fetch(`${address.url}/?query=SELECT+1`, {
      headers: { authorization: `Basic ${credentials}` },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    return reply.ok && (await reply.text()).trim() === '1';
  } catch {
    // Nobody there, or something that is no engine: the file is stale.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function attached(address: EngineAddress): EmbeddedEngine {
  const { url, username, password, pid } = address;
  return {
    url,
    username,
    password,
    pid,
    get isAlive() {
      return isAlive(pid);
    },
    owned: false,
    stop: () => Promise.resolve(),
  };
}

async function own(
  first: EngineProcess,
  dataDir: string,
  open: OpenOptions,
  options: EmbeddedEngineOptions,
): Promise<EmbeddedEngine> {
  const addressOf = (child: EngineProcess): EngineAddress => ({
    pid: child.pid,
    ownerPid: process.pid,
    url: `http://127.0.0.1:${first.port}`,
    username: open.username,
    password: open.password,
  });
  const address = addressOf(first);
  await writeEngineFile(dataDir, address);
  const supervisor = new EngineSupervisor(first, {
    open: { ...open, port: first.port },
    log: options.log ?? SILENT,
    onExit: (exit) => options.onExit?.(exit),
    onRestart: (child) => writeEngineFile(dataDir, addressOf(child)),
  });
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
    owned: true,
    stop: () => {
      stopped ??= removeEngineFile(dataDir, address).then(() => supervisor.stop());
      return stopped;
    },
  };
}

function missingError(message: string): AppError {
  return new AppError(
    'The embedded engine needs the optional package chdb, which is not installed or does not run on this system ' +
      '(it exists for Linux with glibc and for macOS). Run `npm install chdb`, or set `store.url` to a ClickHouse server.',
    { code: 'store_missing', stage: 'store', retryable: false, details: { message } },
  );
}

async function lockedError(dataDir: string, enginePath: string): Promise<StoreUnavailableError> {
  const status = await readFile(join(enginePath, 'status'), 'utf8').catch(() => '');
  const pid = /PID: (\d+)/u.exec(status)?.[1];
  const holder = pid === undefined ? 'another process' : `process ${pid}`;
  return new StoreUnavailableError(
    `The data directory ${dataDir} is held by ${holder}, which does not answer as an engine. ` +
      `End that process${pid === undefined ? '' : ` (kill ${pid})`}, or set \`store.dataDir\` to another directory.`,
  );
}

/** Makes the directory, for this user only, and returns its real path. */
async function preparedDirectory(path: string): Promise<string> {
  try {
    await mkdir(engineFolder(path), { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
    return await realpath(path);
  } catch (error) {
    throw new ConfigError(
      `The data directory ${path} cannot be used: ${messageOf(error)}. Set \`store.dataDir\` to a directory that can be written.`,
      { dataDir: path },
      error,
    );
  }
}

type OpenOptions = Parameters<typeof launchEngineProcess>[0];

/** Tries to become the owner; undefined when another process holds the directory. */
async function tryToOwn(
  dataDir: string,
  open: OpenOptions,
  options: EmbeddedEngineOptions,
): Promise<EmbeddedEngine | undefined> {
  const log = options.log ?? SILENT;
  const outcome = await launchEngineProcess(open, (line) =>
    log.warn({ line }, 'the embedded engine wrote to standard error'),
  );
  if (outcome.ok) {
    return own(outcome.process, dataDir, open, options);
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

/** What the child is told; what the caller left open gets its default. */
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
 * Starts the embedded ClickHouse of a data directory, or attaches to the one that another process has started there.
 * Throws `store_missing` when chdb is absent, `config_invalid` when the directory cannot be used, `store_unavailable` when
 * it is held by something that does not answer or the engine cannot be opened.
 */
export async function startEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const dataDir = await preparedDirectory(options.dataDir);
  const open = openOptions(dataDir, options);
  const startedAtMs = performance.now();
  while (true) {
    const address = await readEngineFile(dataDir);
    const waitedMs = performance.now() - startedAtMs;
    const isPatient = waitedMs < OWNER_GRACE_MS;
    const ownerLives = address !== undefined && isAlive(address.ownerPid);
    // An engine whose owner was killed may answer for a last moment.
    if (address !== undefined && (ownerLives || !isPatient) && (await answers(address))) {
      return attached(address);
    }
    // An owner that lives may be about to start its engine again.
    if (!(ownerLives && isPatient && address.ownerPid !== process.pid)) {
      const owned = await tryToOwn(dataDir, open, options);
      if (owned !== undefined) {
        return owned;
      }
      if (waitedMs > (options.lockTimeoutMs ?? LOCK_TIMEOUT_MS)) {
        throw await lockedError(dataDir, open.enginePath);
      }
    }
    await sleep(LOCK_RETRY_MS);
  }
}
