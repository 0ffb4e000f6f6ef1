import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError, readErrorMessage } from '../domain/errors.ts';

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
    if (readCode(error) === 'ENOENT' && dirname(path) !== path) {
      await makeFolders(dirname(path));
      await mkdir(path, { mode: 0o700 });
      return;
    }
    if (readCode(error) !== 'EEXIST') {
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
    if (readCode(error) !== 'ENOENT' || dirname(path) === path) {
      throw error;
    }
    await checkFolders(dirname(path));
  }
}

function readCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function unusableFolderError(path: string, cause: unknown): ConfigError {
  return new ConfigError(
    `the data directory ${path} cannot be used: ${readErrorMessage(cause)}; set store.dataDir (or --data-dir) to a writable directory`,
    { dataDir: path },
    cause,
  );
}
