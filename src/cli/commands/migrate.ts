import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { createDecisionAggregates } from '../../aggregates/count-coverage.ts';
import { logRefusals, rebuildAggregates } from '../../aggregates/refresh-aggregates.ts';
import {
  connectStore,
  type StoreConnection,
  migrateStore,
  openConnectedStore,
  readSchemaStatus,
} from '../../store/connection/connect-store.ts';
import { formatCount } from '../../domain/plural.ts';
import { EXIT } from '../exit-codes.ts';
import type { SchemaStatus } from '../../store/contracts/stores.ts';

interface MigrateOptions {
  readonly status?: boolean;
  readonly dryRun?: boolean;
  readonly rebuildAggregates?: boolean;
}

export const registerMigrate: RegisterCommand = (program, bind) => {
  withExamples(program.command('migrate'), [['what would be created', 'spanscore migrate --dry-run']])
    .option('--status', 'only print which schema the store has')
    .option('--dry-run', 'only print the SQL that would run')
    .option('--rebuild-aggregates', 'compute the numbers of the pages anew from all scores and decisions')
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
      return before.state === 'foreign' ? EXIT.failed : EXIT.done;
    }
    const after = await migrateStore(connection, context.log);
    const rebuilt = options.rebuildAggregates === true ? await rebuild(context, connection) : undefined;
    const created = before.pending.length;
    await context.out.document(
      {
        ...statusJson(after, false),
        created,
        ...(rebuilt === undefined ? {} : { rebuiltHours: rebuilt }),
      },
      () =>
        [
          ...(created === 0 ? [] : [`created ${formatCount(created, 'table')} and views`]),
          describeSchema(after),
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
    await rebuildAggregates(store.runHours, signal, onRefused);
    return hours;
  } finally {
    await store.close();
  }
}

function statusJson(status: SchemaStatus, withStatements: boolean) {
  return {
    database: status.database,
    schema: status.schema ?? null,
    known: status.known,
    state: status.state,
    ...(status.fault === undefined ? {} : { fault: status.fault }),
    missing: status.pending.length,
    ...(withStatements ? { statements: status.pending } : {}),
  };
}

function showStatus(status: SchemaStatus, withStatements: boolean): string {
  const head = describeSchema(status);
  const pending = withStatements && status.pending.length > 0 ? [`${status.pending.join(';\n\n')};`] : [];
  return [withStatements ? `-- ${head}` : head, ...pending].join('\n');
}

function describeSchema({ database, state, schema, known, pending, fault }: SchemaStatus): string {
  if (fault !== undefined || state === 'empty') {
    return fault ?? `database ${database} has no tables of spanscore; this version makes schema ${known}`;
  }
  const missing = pending.length === 0 ? '' : `, but lacks ${formatCount(pending.length, 'table')} of it`;
  return `database ${database} has schema ${schema}, as this version needs${missing}`;
}
