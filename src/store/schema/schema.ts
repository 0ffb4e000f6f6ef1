import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FACT_KEYS } from '../../conventions/fact-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { sha256Hex } from '../../domain/identity.ts';
import type { SchemaStatus } from '../contracts/stores.ts';
import { type Database, readValue } from '../database.ts';
import { checkTables, renderReplicated, requireReplicated } from '../replicated.ts';

/** View that says with which schema the store was made. Its one statement both takes the database and records the version. */
const VERSION = 'schema_version';

/** Table of stores that were made before there was one schema. */
const MIGRATED = 'schema_migrations';

const CREATED = /^CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS (\w+)/u;

/** Reads the schema of the store, without a change. Nothing is written to a store before: another schema means other tables. */
export async function readSchemaStatus(
  database: Database,
  schema: Schema = readSchema(),
): Promise<SchemaStatus> {
  await checkTables(database);
  return compareSchema(database, schema);
}

/** Throws for a store that was made with another schema. */
export function refuseForeign({ fault, schema, known }: SchemaStatus): void {
  if (fault !== undefined) {
    throw new AppError(fault, {
      code: 'store_foreign',
      stage: 'store',
      retryable: false,
      details: { schema, known },
    });
  }
}

/**
 * Creates the tables that the database lacks, and the database. Throws for a store that was made with another schema, before anything
 * is written. Two processes may do this at once, because every statement can be repeated.
 * @returns the number of created tables and views
 */
export async function createSchema(database: Database, schema: Schema = readSchema()): Promise<number> {
  await checkTables(database);
  const status = await compareSchema(database, schema);
  refuseForeign(status);
  if (status.state === 'empty') {
    await createDatabase(database);
  }
  const [first, ...rest] = status.pending;
  if (first !== undefined) {
    await database.command(first);
    // Another process may have taken the database for another schema since the first look.
    refuseForeign(await compareSchema(database, schema));
  }
  for (const statement of rest) {
    await database.command(statement);
  }
  return status.pending.length;
}

/** Compares the tables of the store with those of the schema. */
async function compareSchema(
  database: Database,
  { version: known, statements }: Schema,
): Promise<SchemaStatus> {
  const { name } = database;
  const rows = await database.outside.rows<{ table: string; query: string }>(
    'SELECT name AS table, as_select AS query FROM system.tables WHERE database = {name:String}',
    { name },
  );
  const tables = new Map(rows.map(({ table, query }) => [table, query]));
  const schema = /'([^']+)'/u.exec(tables.get(VERSION) ?? '')?.[1];
  const own = new Set([MIGRATED, ...listOwnTables({ version: known, statements })]);
  const pending = listStatements(database, known, statements).filter(
    (statement) => !tables.has(CREATED.exec(statement)?.[1] ?? ''),
  );
  const base = { database: name, schema, known };
  const found = rows.map(({ table }) => table).filter((table) => own.has(table));
  if (schema === undefined ? found.length > 0 : schema !== known) {
    const fault = describeFault(name, { schema, known, isMigrated: tables.has(MIGRATED), found });
    return { ...base, state: 'foreign', pending: [], fault };
  }
  const complete = pending.length === 0 ? 'current' : 'incomplete';
  return { ...base, state: schema === undefined ? 'empty' : complete, pending, fault: undefined };
}

function describeFault(
  database: string,
  {
    schema,
    known,
    isMigrated,
    found,
  }: Pick<SchemaStatus, 'schema' | 'known'> & {
    readonly isMigrated: boolean;
    readonly found: readonly string[];
  },
): string {
  return schema === undefined && !isMigrated
    ? `database "${database}" has tables with names of spanscore's (${found.slice(0, 3).join(', ')}), but no schema version: another program made them; set store.database to another name`
    : `database "${database}" has schema ${shortenVersion(schema)}, but this version of spanscore needs ${shortenVersion(known)}: this store was made by an unreleased version: export its scores with the version that made it, or delete it`;
}

/** Returns the part of a schema's version by which people tell it from other ones. */
export function shortenVersion(version: string | undefined): string {
  return version?.slice(0, 12) ?? 'without a version';
}

/** Lists all statements that make a store, the one with its version first. */
function listStatements(
  { isReplicated }: Database,
  version: string,
  statements: readonly string[],
): string[] {
  const first = `CREATE VIEW IF NOT EXISTS ${VERSION} AS SELECT '${version}' AS Version`;
  return [first, ...(isReplicated ? statements.map(renderReplicated) : statements)];
}

/** Checks first whether the database exists: a user of a shared server may have a database without the right to create one. */
async function createDatabase(database: Database): Promise<void> {
  if (database.isReplicated) {
    await requireReplicated(database);
  } else if (!(await databaseExists(database))) {
    await database.outside.command(`CREATE DATABASE IF NOT EXISTS \`${database.name}\` ENGINE = Atomic`);
  }
}

async function databaseExists({ name, outside }: Database): Promise<boolean> {
  const found = await outside.rows('SELECT name FROM system.databases WHERE name = {name:String}', { name });
  return found.length > 0;
}

const FILE = join('schemas', 'clickhouse', 'schema.sql');

/** Schema of the store as this program knows it. */
export interface Schema {
  /** SHA-256 of the statements, lower-case hex. Settings that are applied to a store afterwards do not change it. */
  readonly version: string;
  /** Statements in order. Each one can run again after a crash, and in two processes at once. */
  readonly statements: readonly string[];
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

/** Reads the schema. A change of its comments, or of the keys of facts, is no other version. */
export function readSchema(file: string = schemaFile()): Schema {
  const statements = splitStatements(readFileSync(file, 'utf8'));
  return {
    version: sha256Hex(statements.join(';\n')),
    statements: statements.map((statement) => statement.replace('{facts}', FACTS_COLUMN)),
  };
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
const CREATE_VIEW = /^CREATE VIEW IF NOT EXISTS (\w+)/u;

/** Lists the names of the tables that the schema creates, in order. */
export function listOwnTables({ statements }: Schema = readSchema()): string[] {
  return statements.flatMap((statement) => CREATE_TABLE.exec(statement)?.[1] ?? []).sort();
}

/** Lists the views of the schema that are made for people, by name: the others only fill tables. */
export function listOwnViews({ statements }: Schema = readSchema()): string[] {
  return statements.flatMap((statement) => CREATE_VIEW.exec(statement)?.[1] ?? []).sort();
}

const quote = (keys: readonly string[]) => keys.map((key) => `'${key}'`).join(', ');

/** Type and value of the column `Facts` of `otel_traces`: the attributes of a span and its resource that facts are read from. */
export const FACTS_COLUMN = `Map(LowCardinality(String), String) MATERIALIZED mapConcat(
    mapFilter((key, value) -> key IN (${quote(FACT_KEYS.span)}) OR position(key, 'feedback') > 0, SpanAttributes),
    mapFilter((key, value) -> key IN (${quote(FACT_KEYS.resource)}), ResourceAttributes)) CODEC(ZSTD(1))`;

/**
 * Alters the column of a store that was made before a key was known. Only spans stored from now on have the key.
 * @param definitions CREATE statements of the tables, by name
 */
export async function applyFactKeys(
  database: Pick<Database, 'command'>,
  definitions: ReadonlyMap<string, string>,
): Promise<void> {
  const definition = definitions.get('otel_traces') ?? '';
  const isWhole = [FACT_KEYS.span, FACT_KEYS.resource].every((keys) => definition.includes(quote(keys)));
  if (!isWhole) {
    await database.command(`ALTER TABLE otel_traces MODIFY COLUMN \`Facts\` ${FACTS_COLUMN}`);
  }
}

/** Reads the CREATE statements of the tables, by name. */
export async function readDefinitions(database: Database): Promise<Map<string, string>> {
  const tables = await database.rows<{ name: string; definition: string }>(
    'SELECT name, create_table_query AS definition FROM system.tables WHERE database = {name:String}',
    { name: database.name },
  );
  return new Map(tables.map(({ name, definition }) => [name, definition]));
}

/** Table that exists while a command fills or repairs a database. Its comment names the command, and what it copies. */
const MARK = 'unfinished_copy';

/** Returns the mark of the command that has not finished with the database; undefined for a database in use. */
export function readUnfinished({ outside, name }: Database): Promise<string | undefined> {
  const sql = `SELECT comment FROM system.tables WHERE database = {name:String} AND name = '${MARK}'`;
  return readValue<string>(outside, sql, { name });
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
