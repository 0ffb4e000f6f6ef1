import { AppError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { checkTables, renderReplicated, requireReplicated } from '../replicated.ts';
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

/** Reads the applied and pending migrations, without a change. Throws like `migrate` for a newer or a changed database. */
export async function migrationStatus(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<MigrationStatus> {
  await checkTables(database);
  const { applied, ...schema } = await readSchema(database, migrations);
  return {
    database: database.name,
    ...schema,
    applied: applied.map(({ version, name, appliedAt }) => ({ version, name, appliedAt })),
  };
}

/**
 * Migrates the database to the newest known version, and creates it when it does not exist. Two processes may do this at once, because
 * every statement can be repeated. Returns the applied migrations.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = readMigrations(),
): Promise<readonly Migration[]> {
  await checkTables(database);
  await createDatabase(database);
  await database.command(render(database, BOOKKEEPING));
  const { pending } = await readSchema(database, migrations);
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
    .map((migration) => ({
      ...migration,
      statements: migration.statements.map((each) => render(database, each)),
    }));
  return { current, known, applied, pending };
}

/** Renders a statement for the tables of the database. */
function render({ isReplicated }: Database, statement: string): string {
  return isReplicated ? renderReplicated(statement) : statement;
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
