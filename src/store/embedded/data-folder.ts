import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';

/** The folder of the engine's own files within a data directory. */
export function engineFolder(dataDir: string): string {
  return join(dataDir, 'clickhouse');
}

/** True when an engine has written to this data directory before. */
export function hasEngineFiles(dataDir: string): boolean {
  return existsSync(engineFolder(dataDir));
}

/** Address of a running engine: `<dataDir>/engine.json`, readable by its user only. */
export interface EngineAddress {
  /** Process of the engine. */
  readonly pid: number;
  /** Start time of the process, see `readProcessStart`; undefined when the system does not report it. */
  readonly startedAt?: string | undefined;
  /** Process that started the engine and restarts it. */
  readonly ownerPid: number;
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

function formatFile(dataDir: string): string {
  return join(dataDir, 'engine.json');
}

/** Reads the address of the engine of a directory; undefined when there is none or it is unreadable. */
export async function readEngineFile(dataDir: string): Promise<EngineAddress | undefined> {
  try {
    const parsed = JSON.parse(await readFile(formatFile(dataDir), 'utf8')) as Partial<EngineAddress> | null;
    const { pid, ownerPid, url, username, password } = parsed ?? {};
    const texts = [url, username, password].every((value) => typeof value === 'string');
    return texts && typeof pid === 'number' && typeof ownerPid === 'number'
      ? (parsed as EngineAddress)
      : undefined;
  } catch {
    // An absent or foreign file means no engine; the lock of the engine decides.
    return undefined;
  }
}

/** Publishes an address in one step: readers see the old or the new file. */
export function writeEngineFile(dataDir: string, address: EngineAddress): void {
  writeWhole(formatFile(dataDir), `${JSON.stringify(address, null, 2)}\n`);
}

/** Removes the file if it is still the one of this address. */
export async function removeEngineFile(dataDir: string, address: EngineAddress): Promise<void> {
  const current = await readEngineFile(dataDir);
  if (current?.password === address.password) {
    await rm(formatFile(dataDir), { force: true });
  }
}

/** New place of a store that was moved. */
export interface MovedTo {
  readonly url: string;
  readonly database: string;
}

function formatPath(dataDir: string): string {
  return join(dataDir, 'moved.json');
}

/** Reads the new place of the store of a data directory; undefined for a store that was not moved. */
export function readMoved(dataDir: string): MovedTo | undefined {
  const path = formatPath(dataDir);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as MovedTo) : undefined;
}

/** Writes the new place: the engine of this directory only reads after its next start, and no `serve` starts. */
export function writeMoved(dataDir: string, { url, database }: MovedTo): void {
  writeWhole(formatPath(dataDir), `${JSON.stringify({ url, database }, null, 2)}\n`);
}

/** Returns the sentence for a store that was moved. */
export function formatMoved({ url, database }: MovedTo): string {
  return `this store was moved to ${url}, database ${database}: set store.url and store.database, and start serve again`;
}

/**
 * Writes a file of this user in one step: readers, also after a kill, see the former file or the new one. Only one process at a time may
 * call it for a path.
 */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.draft`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

/** Creates the directory, for this user only. Returns its real path. */
export async function prepareDirectory(path: string): Promise<string> {
  try {
    await mkdir(engineFolder(path), { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
    return await realpath(path);
  } catch (error) {
    throw new ConfigError(
      `The data directory ${path} cannot be used: ${readErrorMessage(error)}. Set \`store.dataDir\` to a writable directory.`,
      { dataDir: path },
      error,
    );
  }
}
