import { formatCount } from '../../domain/plural.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

export const registerRestore: RegisterCommand = (program, bind) => {
  withExamples(program.command('restore'), [
    ['into a new folder', 'spanscore restore --from /backups/2026-11-24 --data-dir /var/lib/spanscore'],
  ])
    .requiredOption('--from <folder>', 'folder that spanscore backup wrote; it is only read')
    .action(bind(restore));
};

async function restore(context: CommandContext, { from }: { readonly from: string }): Promise<ExitCode> {
  const { out, log, signal } = context;
  const { config } = await context.loadConfig();
  const { restoreBackup } = await import('../../backup/backup.ts');
  const { manifest, reopened, purged } = await restoreBackup(config, from, {
    log,
    signal,
    onProgress: (message) => out.progress(message),
  });
  const { dataDir } = config.store;
  const { startedAt, tables } = manifest;
  const purgedRows = Object.values(purged).reduce((sum, rows) => sum + rows, 0);
  await out.document({ dataDir, startedAt, tables, reopened, purged }, () =>
    [
      `${dataDir} has the data of ${startedAt}: ${formatCount(Object.keys(tables).length, 'table')} with all rows of the backup`,
      ...(reopened === 0
        ? []
        : [`${formatCount(reopened, 'decision')} without a score: they are scored again`]),
      ...(purgedRows === 0 ? [] : [`${formatCount(purgedRows, 'row')} of purged traces deleted again`]),
    ].join('\n'),
  );
  return EXIT.done;
}
