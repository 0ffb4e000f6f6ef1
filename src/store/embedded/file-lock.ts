import type * as Sqlite from 'node:sqlite';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';

/** Lock on a file. The kernel releases it when this process ends for any reason. */
export interface FileLock {
  release(): void;
}

/** SQLite's code for a file that another connection has locked. */
const SQLITE_BUSY = 5;

/**
 * Locks a file and creates it when absent. Returns undefined when another process, or another caller in this process, has
 * the lock. Uses an exclusive transaction of SQLite: Node has no file locks, and packages with file locks need a compiler
 * at installation. Never open the file in another way, because closing it releases the lock.
 */
export function tryFileLock(path: string): FileLock | undefined {
  const { DatabaseSync } = loadSqlite();
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(path);
    // Kept in memory, so that there is no second file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) {
      return undefined;
    }
    throw new ConfigError(
      `The file ${path} cannot be locked: ${readErrorMessage(error)}. Set \`store.dataDir\` to a writable directory, ` +
        'on a file system that has locks.',
      { path },
      error,
    );
  }
  const locked = database;
  return { release: () => locked.close() };
}

/** Loads SQLite without the warning of Node 22 that it is experimental, which users of a command do not need. Throws a `ConfigError` for a Node without it. */
export function loadSqlite(): typeof Sqlite {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    const sqlite = process.getBuiltinModule('node:sqlite') as typeof Sqlite | undefined;
    if (sqlite === undefined) {
      throw new ConfigError(
        'This Node was built without node:sqlite, which locks data directories and sorts files of spans. Use a Node from nodejs.org.',
      );
    }
    return sqlite;
  } finally {
    process.emitWarning = emitWarning;
  }
}
