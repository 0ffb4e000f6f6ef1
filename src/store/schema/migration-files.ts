import { sha256Hex } from '../../domain/identity.ts';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/errors.ts';
import type { Migration } from '../contracts/migrations.ts';

const FOLDER = join('schemas', 'clickhouse');

/** Returns the folder of the migrations: next to the sources in a checkout, next to `dist` in an installed package. */
export function migrationsFolder(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER);
    if (existsSync(candidate)) {
      return candidate;
    }
    if (folder === dirname(folder)) {
      throw new AppError(`no folder ${FOLDER} above ${from}: the installation is incomplete, install again`, {
        code: 'bug',
        stage: 'store',
        retryable: false,
      });
    }
  }
}

/** Reads all migrations in order of their versions. A version whose tables are gone has no file. */
export function readMigrations(folder: string = migrationsFolder()): Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort();
  return files.map((file, index) => {
    const match = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file);
    if (match === null || files[index + 1]?.startsWith(`${match[1]}-`) === true) {
      throw new AppError(
        `${join(folder, file)}: expected a name like 0001-name.sql, with a number that no other file has`,
        { code: 'bug', stage: 'store', retryable: false },
      );
    }
    const text = readFileSync(join(folder, file), 'utf8');
    return {
      version: Number(match[1]),
      name: match[2] ?? '',
      checksum: sha256Hex(text),
      statements: splitStatements(text),
    };
  });
}

/**
 * Splits the text of a migration into statements. A statement ends with a semicolon at the end of a line. Comments have
 * lines of their own.
 */
export function splitStatements(text: string): string[] {
  const code = text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('--'))
    .join('\n');
  return code
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}
