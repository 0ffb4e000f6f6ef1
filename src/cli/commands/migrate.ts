import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { connectStore } from '../../app/connect-store.ts';
import { migrateStore, readSchemaStatus } from '../../app/open-store.ts';
import { EXIT } from '../exit-codes.ts';
import type { MigrationStatus } from '../../store/contracts/migrations.ts';

interface MigrateOptions {
  readonly status?: boolean;
  readonly dryRun?: boolean;
}

export const registerMigrate: RegisterCommand = (program, bind) => {
  program
    .command('migrate')
    .description('Update the tables to the schema of this version. serve also does this when it starts.')
    .option('--status', 'only print the schema version of the database')
    .option('--dry-run', 'only print the SQL that would run')
    .addHelpText('before', examples(['what would change', 'spanscore migrate --dry-run']))
    .action(bind(migrate));
};

async function migrate(context: CommandContext, options: MigrateOptions) {
  const { config } = await context.loadConfig();
  const isLook = options.status === true || options.dryRun === true;
  const connection = await connectStore(config, context.log, {
    command: 'migrate',
    signal: context.signal,
    existing: isLook,
  });
  try {
    const before = await readSchemaStatus(connection);
    if (isLook) {
      await context.out.document(statusJson(before, options.dryRun === true), () =>
        showStatus(before, options.dryRun === true),
      );
      return EXIT.done;
    }
    const after = await migrateStore(connection, context.log);
    const applied = before.pending.map(({ version, name }) => ({ version, name }));
    await context.out.document({ ...statusJson(after, false), appliedNow: applied }, () =>
      applied.length === 0
        ? `database ${after.database} has version ${after.current} already`
        : [
            ...applied.map(({ version, name }) => `applied ${version} ${name}`),
            `database ${after.database} has version ${after.current} now`,
          ].join('\n'),
    );
    return EXIT.done;
  } finally {
    await connection.release();
  }
}

function statusJson(status: MigrationStatus, withStatements: boolean) {
  return {
    database: status.database,
    current: status.current,
    known: status.known,
    applied: status.applied,
    pending: status.pending.map(({ version, name, statements }) =>
      withStatements ? { version, name, statements } : { version, name },
    ),
  };
}

function showStatus(status: MigrationStatus, withStatements: boolean): string {
  const head = `database ${status.database} has version ${status.current} of ${status.known}`;
  const pending = status.pending.map(({ version, name, statements }) =>
    withStatements ? `-- ${version} ${name}\n${statements.join(';\n\n')};` : `pending ${version} ${name}`,
  );
  return [withStatements ? `-- ${head}` : head, ...pending].join('\n');
}
