import { AppError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { checkCluster, checkKind } from '../cluster/check-cluster.ts';
import { checkShards, recordShards, SHARDS_TABLE } from '../cluster/cluster-shards.ts';
import { ANSWERING, ofAllServers, onCluster, type Cluster } from '../cluster/cluster.ts';
import { fillServers, readClusterStatus } from '../cluster/fill-servers.ts';
import { renderStatement } from '../cluster/render-statement.ts';
import type { SchemaStatus } from '../contracts/schema-status.ts';
import type { Database } from '../database.ts';
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
  await checkServers(database);
  const status = await compareSchema(database, schema);
  const { cluster } = database;
  if (cluster === undefined || status.state === 'foreign') {
    return { ...status, cluster: undefined };
  }
  const statements = status.state === 'empty' ? [] : [SHARDS_TABLE, ...schema.statements];
  return { ...status, cluster: await readClusterStatus(database, cluster, statements) };
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
 * @param log takes the fault of servers whose tables cannot be created, while the other ones serve; without a log, it is thrown
 * @returns the number of created tables and views
 */
export async function createSchema(
  database: Database,
  log?: Log,
  schema: Schema = readSchema(),
): Promise<number> {
  await checkServers(database);
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
  const { cluster } = database;
  if (cluster !== undefined) {
    await recordShards(database, cluster, status.state === 'empty');
    await fill(database, cluster, schema, log);
  }
  return status.pending.length;
}

async function checkServers(database: Database): Promise<void> {
  await checkKind(database);
  await checkCluster(database);
  await checkShards(database);
}

/** Compares the tables of the store with those of the schema. */
async function compareSchema(
  database: Database,
  { version: known, statements }: Schema,
): Promise<SchemaStatus> {
  const { name, cluster } = database;
  const rows = await database.outside.rows<{ table: string; query: string }>(
    `SELECT name AS table, any(as_select) AS query FROM ${ofAllServers(cluster, 'system.tables')}
     WHERE database = {name:String} GROUP BY table${cluster === undefined ? '' : ` ${ANSWERING}`}`,
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
  const base = { database: name, schema, known, cluster: undefined };
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

/** Lists all statements that make a store, the one with its version first, for the servers of the database. */
function listStatements({ cluster }: Database, version: string, statements: readonly string[]): string[] {
  const first = `CREATE VIEW IF NOT EXISTS ${VERSION}${onCluster(cluster)} AS SELECT '${version}' AS Version`;
  return cluster === undefined
    ? [first, ...statements]
    : [first, ...[SHARDS_TABLE, ...statements].flatMap((each) => renderStatement(each, cluster))];
}

/** Creates the tables that servers of a cluster lack, because they joined it later. */
async function fill(
  database: Database,
  cluster: Cluster,
  { statements }: Schema,
  log: Log | undefined,
): Promise<void> {
  const readStatus = () => readClusterStatus(database, cluster, [SHARDS_TABLE, ...statements]);
  try {
    const status = await readStatus();
    if (status.gaps.length > 0) {
      await fillServers(database, status, async () => (await readStatus()).gaps);
      for (const { server, tables } of status.gaps) {
        log?.info('tables created on a server that lacked them', { server, tables });
      }
    }
  } catch (error) {
    if (log === undefined) {
      throw error;
    }
    log.error('servers of the cluster lack tables, and these cannot be created', { error });
  }
}

/**
 * Checks first whether the database exists: a user of a shared server may have a database without the right to create one.
 */
async function createDatabase(database: Database): Promise<void> {
  if (!(await databaseExists(database))) {
    await database.outside.command(
      `CREATE DATABASE IF NOT EXISTS \`${database.name}\`${onCluster(database.cluster)} ENGINE = Atomic`,
    );
  }
}

async function databaseExists(database: Database): Promise<boolean> {
  const [row] = await database.outside.rows<{ servers: string; databases: string }>(
    `SELECT (SELECT count() FROM ${ofAllServers(database.cluster, 'system.one')}) AS servers,
       (SELECT count() FROM ${ofAllServers(database.cluster, 'system.databases')} WHERE name = {name:String}) AS databases
     ${ANSWERING}`,
    { name: database.name },
  );
  return row !== undefined && row.servers === row.databases;
}
