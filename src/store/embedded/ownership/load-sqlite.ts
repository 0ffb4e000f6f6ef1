import type * as Sqlite from 'node:sqlite';
import { ConfigError } from '../../../domain/errors.ts';

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
