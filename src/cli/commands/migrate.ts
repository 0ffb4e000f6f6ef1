import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { createDecisionAggregates } from '../../app/aggregates/count-coverage.ts';
import { logRefusals, rebuildAggregates } from '../../app/aggregates/refresh-aggregates.ts';
import { connectStore, type StoreConnection } from '../../app/store/connect-store.ts';
import { migrateStore, openConnectedStore, readSchemaStatus } from '../../app/store/open-store.ts';
import { EXIT } from '../exit-codes.ts';
import type { MigrationStatus } from '../../store/contracts/migrations.ts';

interface MigrateOptions {
  readonly status?: boolean;
  readonly dryRun?: boolean;
  readonly rebuildAggregates?: boolean;
}

export const registerMigrate: RegisterCommand = (program, bind) => {
  program
    .command('migrate')
    .description('Update the tables to the schema of this version. serve also does this when it starts.')
    .option('--status', 'only print the schema version of the database')
    .option('--dry-run', 'only print the SQL that would run')
    .option('--rebuild-aggregates', 'compute the numbers of the pages anew from all scores and decisions')
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
    const rebuilt = options.rebuildAggregates === true ? await rebuild(context, connection) : undefined;
    const applied = before.pending.map(({ version, name }) => ({ version, name }));
    await context.out.document(
      {
        ...statusJson(after, false),
        appliedNow: applied,
        ...(rebuilt === undefined ? {} : { rebuiltHours: rebuilt }),
      },
      () =>
        [
          ...applied.map(({ version, name }) => `applied ${version} ${name}`),
          `database ${after.database} has version ${after.current} ${applied.length === 0 ? 'already' : 'now'}`,
          ...(rebuilt === undefined ? [] : [`aggregates of ${rebuilt} hours computed anew`]),
        ].join('\n'),
    );
    return EXIT.done;
  } finally {
    await connection.release();
  }
}

async function rebuild({ log, signal }: CommandContext, connection: StoreConnection): Promise<number> {
  const store = await openConnectedStore(connection, log);
  try {
    const onRefused = logRefusals(log);
    const hours = await rebuildAggregates(store.aggregates, signal, onRefused);
    await rebuildAggregates(createDecisionAggregates(store), signal, onRefused);
    return hours;
  } finally {
    await store.close();
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
