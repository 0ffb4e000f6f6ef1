import { AppError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';

/** Table that exists while a command fills or repairs a database. Its comment names the command, and what it copies. */
const MARK = 'unfinished_copy';

/** Returns the mark of the command that has not finished with the database; undefined for a database in use. */
export async function readUnfinished(database: Database): Promise<string | undefined> {
  const [row] = await database.outside.rows<{ mark: string }>(
    `SELECT comment AS mark FROM system.tables WHERE database = {name:String} AND name = '${MARK}'`,
    { name: database.name },
  );
  return row?.mark;
}

/** Returns true for a database with tables, whoever made them. */
export async function hasTables({ outside, name }: Database): Promise<boolean> {
  const tables = await outside.rows('SELECT name FROM system.tables WHERE database = {name:String} LIMIT 1', {
    name,
  });
  return tables.length > 0;
}

/** Throws for a database with which a command has not finished. */
export async function refuseUnfinished(database: Database): Promise<void> {
  const [command] = (await readUnfinished(database))?.split(' ') ?? [];
  if (command !== undefined) {
    throw new AppError(
      `database "${database.name}" is not complete: spanscore ${command} has not finished with it; wait for its end, or run the same command again if it was interrupted`,
      { code: 'store_rejected', stage: 'store', retryable: false, details: { command } },
    );
  }
}

/**
 * Marks the database as incomplete.
 * @param mark begins with the name of the command
 */
export async function markUnfinished(database: Database, mark: string): Promise<void> {
  await database.command(
    `CREATE TABLE IF NOT EXISTS ${MARK} (At DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY At COMMENT '${mark}'`,
  );
}

/** Removes the mark: the database is complete. */
export async function markFinished(database: Database): Promise<void> {
  await database.command(`DROP TABLE IF EXISTS ${MARK} SYNC`);
}
