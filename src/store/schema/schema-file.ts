import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { sha256Hex } from '../../domain/identity.ts';

const FILE = join('schemas', 'clickhouse', 'schema.sql');

/** Schema of the store as this program knows it. */
export interface Schema {
  /** SHA-256 of the statements, lower-case hex. Settings that are applied to a store afterwards do not change it. */
  readonly version: string;
  /** Statements in order. Each one can run again after a crash, and in two processes at once. */
  readonly statements: readonly string[];
}

/** Table that the schema creates. */
export interface OwnTable {
  readonly name: string;
}

/** Returns the path of the schema: next to the sources in a checkout, next to `dist` in an installed package. */
export function schemaFile(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, FILE);
    if (existsSync(candidate)) {
      return candidate;
    }
    if (folder === dirname(folder)) {
      throw new AppError(`no file ${FILE} above ${from}: the installation is incomplete, install again`, {
        code: 'bug',
        stage: 'store',
        retryable: false,
      });
    }
  }
}

/** Reads the schema. A change of its comments alone is no other version. */
export function readSchema(file: string = schemaFile()): Schema {
  const statements = splitStatements(readFileSync(file, 'utf8'));
  return { version: sha256Hex(statements.join(';\n')), statements };
}

/**
 * Splits a text into statements. A statement ends with a semicolon at the end of a line. Comments have lines of their own.
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

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/u;

/** Lists the tables that the schema creates, by name. */
export function listOwnTables({ statements }: Schema = readSchema()): OwnTable[] {
  return statements
    .flatMap((statement): OwnTable[] => {
      const name = CREATE_TABLE.exec(statement)?.[1];
      return name === undefined ? [] : [{ name }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
