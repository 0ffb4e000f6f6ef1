import { randomBytes, randomUUID } from 'node:crypto';
import { constants, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, hasCode, readErrorMessage } from '../domain/errors.ts';

/** Creates the data directory, readable by this user only. Throws a `ConfigError` when it cannot be created or written. */
export async function createDataDirectory(path: string): Promise<void> {
  try {
    await makeFolders(path);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unusableFolderError(path, cause);
  }
}

/** Throws a `ConfigError` for a path that can never be a directory, because a part of it is a file. */
export async function checkDataDirectory(path: string): Promise<void> {
  try {
    await checkFolders(path);
  } catch (cause) {
    throw unusableFolderError(path, cause);
  }
}

/**
 * Creates each missing folder with one `mkdir`. The recursive form of Node.js never returns on a system that answers ENOENT
 * for a folder whose parent exists, as below `/proc`.
 */
async function makeFolders(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'ENOENT') && dirname(path) !== path) {
      await makeFolders(dirname(path));
      await mkdir(path, { mode: 0o700 });
      return;
    }
    if (!hasCode(error, 'EEXIST')) {
      throw error;
    }
    await checkFolders(path);
  }
}

async function checkFolders(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isDirectory()) {
      throw new Error(`${path} is a file`);
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) {
      throw error;
    }
    await checkFolders(dirname(path));
  }
}

function unusableFolderError(path: string, cause: unknown): ConfigError {
  return new ConfigError(
    `the data directory ${path} cannot be used: ${readErrorMessage(cause)}; set store.dataDir (or --data-dir) to a writable directory`,
    { dataDir: path },
    cause,
  );
}

const PURGE_KEY = 'purge.key';

/**
 * Reads the secret of a data directory for the tombstones of purges. The first process creates it; only its user can read it. Throws a
 * `ConfigError` when the file cannot be used.
 */
export function readPurgeSecret(dataDir: string): string {
  const path = join(dataDir, PURGE_KEY);
  try {
    return readPurgeKey(path) ?? createPurgeKey(dataDir, path);
  } catch (cause) {
    throw new ConfigError(
      `the key of purges ${path} cannot be used: ${readErrorMessage(cause)}; make it readable, or set store.purgeKey`,
      {},
      cause,
    );
  }
}

/** Creates the file as a whole: of two processes, the first one wins, and both read its secret. */
function createPurgeKey(dataDir: string, path: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const temporary = join(dataDir, `${PURGE_KEY}.${randomUUID()}`);
  writeFileSync(temporary, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) {
      throw error;
    }
  } finally {
    rmSync(temporary, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}

function readPurgeKey(path: string): string | undefined {
  const secret = readIfThere(path)?.trim();
  if (secret === '') {
    throw new Error('it is empty');
  }
  return secret;
}

/** Reads a text file; undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) {
      return undefined;
    }
    throw error;
  }
}
