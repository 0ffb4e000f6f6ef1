import { AppError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Database } from '../database.ts';
import { checkCluster, checkKind } from '../cluster/check-cluster.ts';
import { ANSWERING, ofAllServers, onCluster, type Cluster } from '../cluster/cluster.ts';
import { readAnsweringServers } from '../cluster/cluster-servers.ts';
import { checkShards, recordShards, SHARDS_TABLE } from '../cluster/cluster-shards.ts';
import { fillServers, readClusterStatus } from '../cluster/fill-servers.ts';
import { renderStatement } from '../cluster/render-statement.ts';
import { readMigrations } from './migration-files.ts';
import type { Migration, MigrationStatus } from '../contracts/migrations.ts';

interface AppliedRow {
  version: number;
  name: string;
  checksum: string;
  appliedAt: string;
}

const BOOKKEEPING = `CREATE TABLE IF NOT EXISTS schema_migrations
(
    \`Version\` UInt32,
    \`Name\` String,
    \`Checksum\` String,
    \`AppliedAt\` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
ORDER BY Version`;

/** Tables that are created before the first migration. */
const BOOKKEEPING_OF_CLUSTER = [BOOKKEEPING, SHARDS_TABLE];

/**
 * Reads the applied and pending migrations, and the tables of the servers of a cluster, without a change. Throws like `migrate` for a
 * newer or a changed database.
 */
export async function migrationStatus(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<MigrationStatus> {
  await checkKind(database);
  await checkCluster(database);
  await checkShards(database);
  const { applied, ...schema } = await readSchema(database, migrations);
  const { cluster } = database;
  return {
    database: database.name,
    ...schema,
    applied: applied.map(({ version, name, appliedAt }) => ({ version, name, appliedAt })),
    cluster: cluster === undefined ? undefined : await readFilled(database, cluster, { applied, migrations }),
  };
}

/**
 * Migrates the database to the newest known version, and creates it when it does not exist. Creates the tables that servers of a
 * cluster lack, because they joined it later. Two processes may do this at once, because every statement can be repeated. Returns the
 * applied migrations.
 * @param log takes the fault of servers whose tables cannot be created, while the others serve; without a log, it is thrown
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
  log?: Log,
): Promise<readonly Migration[]> {
  const { cluster } = database;
  await checkCluster(database);
  await checkKind(database);
  await checkShards(database);
  await createDatabase(database);
  await createBookkeeping(database);
  const { applied, pending } = await readSchema(database, migrations);
  if (cluster !== undefined) {
    await recordShards(database, cluster, applied.length === 0);
    try {
      await fill(database, cluster, { applied, migrations, log });
    } catch (error) {
      // A change of the schema needs all servers.
      if (log === undefined || pending.length > 0) {
        throw error;
      }
      log.error('servers of the cluster lack tables, and these cannot be created', { error });
    }
  }
  for (const migration of pending) {
    for (const statement of migration.statements) {
      await database.command(statement);
    }
    await database.insertRows('schema_migrations', [
      { Version: migration.version, Name: migration.name, Checksum: migration.checksum },
    ]);
  }
  return pending;
}

/** Migrations of a database, and those that the program knows. */
interface Schema {
  readonly applied: readonly AppliedRow[];
  readonly migrations: readonly Migration[];
}

async function fill(
  database: Database,
  cluster: Cluster,
  { log, ...schema }: Schema & { readonly log: Log | undefined },
): Promise<void> {
  const status = await readFilled(database, cluster, schema);
  if (status.gaps.length > 0) {
    await fillServers(database, status, async () => (await readFilled(database, cluster, schema)).gaps);
    for (const { server, tables } of status.gaps) {
      log?.info('tables created on a server that lacked them', { server, tables });
    }
  }
}

/** Reads the servers with the tables of the applied migrations. Those of the others come with their statements. */
function readFilled(database: Database, cluster: Cluster, { applied, migrations }: Schema) {
  const versions = new Set(applied.map(({ version }) => version));
  const done = migrations.filter(({ version }) => versions.has(version));
  return readClusterStatus(database, cluster, [
    ...(done.length === 0 ? [] : BOOKKEEPING_OF_CLUSTER),
    ...done.flatMap(({ statements }) => statements),
  ]);
}

/** Reads the applied and pending migrations. Throws for a newer or a changed database. */
async function readSchema(database: Database, migrations: readonly Migration[]) {
  const applied = await appliedMigrations(database);
  const known = migrations.at(-1)?.version ?? 0;
  const current = applied.reduce((newest, row) => Math.max(newest, row.version), 0);
  if (current > known) {
    throw new AppError(
      `database "${database.name}" has schema version ${current}, but this version of spanscore knows only ${known}: use the version that created it, or a newer one`,
      { code: 'store_newer', stage: 'store', retryable: false, details: { current, known } },
    );
  }
  const done = new Set<number>();
  for (const row of applied) {
    const isOf = ({ version }: Migration) => version === row.version;
    refuseChanged(database.name, row, migrations.find(isOf));
    done.add(row.version);
  }
  const pending = migrations
    .filter((migration) => !done.has(migration.version))
    .map((migration) => ({ ...migration, statements: renderAll(database, migration.statements) }));
  return { current, known, applied, pending };
}

/** Creates the tables of the migrations themselves. A cluster whose servers have them is not changed: a server may be away. */
async function createBookkeeping(database: Database): Promise<void> {
  const { cluster } = database;
  const tables = cluster === undefined ? [BOOKKEEPING] : BOOKKEEPING_OF_CLUSTER;
  const servers = cluster === undefined ? [] : await readAnsweringServers(database, cluster);
  const isThere = (statement: string) =>
    servers.length > 0 && servers.every((server) => server.tables.has(nameOf(statement)));
  for (const statement of renderAll(
    database,
    tables.filter((each) => !isThere(each)),
  )) {
    await database.command(statement);
  }
}

function nameOf(statement: string): string {
  return /^CREATE TABLE IF NOT EXISTS (\w+)/u.exec(statement)?.[1] ?? '';
}

/** Renders statements for the cluster of a database; without one they stay as they are. */
function renderAll({ cluster }: Database, statements: readonly string[]): readonly string[] {
  return cluster === undefined
    ? statements
    : statements.flatMap((statement) => renderStatement(statement, cluster));
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

async function appliedMigrations(database: Database): Promise<AppliedRow[]> {
  const tables = await database.outside.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
    { name: database.name },
  );
  if (tables.length === 0) {
    return [];
  }
  return database.rows<AppliedRow>(
    `SELECT Version AS version, Name AS name, Checksum AS checksum, toString(AppliedAt) AS appliedAt
     FROM schema_migrations FINAL ORDER BY Version`,
  );
}

function refuseChanged(database: string, row: AppliedRow, migration: Migration | undefined): void {
  if (migration === undefined || migration.checksum === row.checksum) {
    return;
  }
  throw new AppError(
    `migration ${row.version} (${row.name}) of database "${database}" was applied with a different content: released migrations never change, so use the version of spanscore that created the database`,
    {
      code: 'store_rejected',
      stage: 'store',
      retryable: false,
      details: { version: row.version, applied: row.checksum, known: migration.checksum },
    },
  );
}
