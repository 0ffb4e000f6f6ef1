import { AppError } from '../../domain/errors.ts';
import type { SchemaStatus } from '../contracts/schema-status.ts';
import type { Database } from '../database.ts';
import { checkTables, renderReplicated, requireReplicated } from '../replicated.ts';
import { listOwnTables, readSchema, type Schema } from './schema-file.ts';

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
  const own = new Set([
    MIGRATED,
    ...listOwnTables({ version: known, statements }).map((table) => table.name),
  ]);
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
