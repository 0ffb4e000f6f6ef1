import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, readErrorMessage } from '../domain/errors.ts';

const NAME = 'purge.key';

/**
 * Reads the secret of a data directory for the tombstones of purges. The first process creates it; only its user can read it. Throws a
 * `ConfigError` when the file cannot be used.
 */
export function readPurgeSecret(dataDir: string): string {
  const path = join(dataDir, NAME);
  try {
    return readIfThere(path) ?? create(dataDir, path);
  } catch (cause) {
    throw new ConfigError(
      `the key of purges ${path} cannot be used: ${readErrorMessage(cause)}; make it readable, or set store.purgeKey`,
      {},
      cause,
    );
  }
}

/** Creates the file as a whole: of two processes, the first one wins, and both read its secret. */
function create(dataDir: string, path: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const temporary = join(dataDir, `${NAME}.${randomUUID()}`);
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

function readIfThere(path: string): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret === '') {
      throw new Error('it is empty');
    }
    return secret;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return undefined;
    }
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
