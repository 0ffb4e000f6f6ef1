import { AppError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { checkCluster, checkKind } from '../cluster/check-cluster.ts';
import { ofAllServers, onCluster } from '../cluster/cluster.ts';
import { renderStatement } from '../cluster/render-statement.ts';
import { readMigrations } from './migration-files.ts';
import type { Migration } from '../contracts/migrations.ts';
import type { MigrationStatus } from '../contracts/migrations.ts';

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

/** Reads the applied and pending migrations without a change. Throws like `migrate` for a newer or a changed database. */
export async function migrationStatus(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<MigrationStatus> {
  await checkKind(database);
  const applied = await appliedMigrations(database);
  const known = migrations.length;
  const current = applied.reduce((newest, row) => Math.max(newest, row.version), 0);
  if (current > known) {
    throw new AppError(
      `database "${database.name}" has schema version ${current}, but this version of spanscore knows only ${known}: use the version that created it, or a newer one`,
      { code: 'store_newer', stage: 'store', retryable: false, details: { current, known } },
    );
  }
  const done = new Set<number>();
  for (const row of applied) {
    refuseChanged(database.name, row, migrations[row.version - 1]);
    done.add(row.version);
  }
  return {
    database: database.name,
    current,
    known,
    applied: applied.map(({ version, name, appliedAt }) => ({ version, name, appliedAt })),
    pending: migrations
      .filter((migration) => !done.has(migration.version))
      .map((migration) => ({ ...migration, statements: renderAll(database, migration.statements) })),
  };
}

/**
 * Migrates the database to the newest known version, and creates it when it does not exist. Two processes may do this at
 * once, because every statement can be repeated. Returns the applied migrations.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<readonly Migration[]> {
  await checkCluster(database);
  await checkKind(database);
  await createDatabase(database);
  for (const statement of renderAll(database, [BOOKKEEPING])) {
    await database.command(statement);
  }
  const { pending } = await migrationStatus(database, migrations);
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
       (SELECT count() FROM ${ofAllServers(database.cluster, 'system.databases')} WHERE name = {name:String}) AS databases`,
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
