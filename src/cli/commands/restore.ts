import { formatCount } from '../../domain/plural.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showRepairs } from '../show/show-repairs.ts';

interface RestoreOptions {
  readonly from: string;
}

export const registerRestore: RegisterCommand = (program, bind) => {
  program
    .command('restore')
    .description('Fill an empty data directory from a backup, and check every table against it.')
    .requiredOption('--from <folder>', 'folder that spanscore backup wrote; it is only read')
    .addHelpText(
      'before',
      examples([
        'into a new folder',
        'spanscore restore --from /backups/2026-11-24 --data-dir /var/lib/spanscore',
      ]),
    )
    .action(bind(restore));
};

async function restore(context: CommandContext, { from }: RestoreOptions): Promise<ExitCode> {
  const { out, log, signal } = context;
  const { config } = await context.loadConfig();
  const { restoreBackup } = await import('../../app/backup/restore-backup.ts');
  const { manifest, ...repairs } = await restoreBackup(config, {
    from,
    log,
    signal,
    onProgress: (message) => out.progress(message),
  });
  const { dataDir } = config.store;
  const { startedAt, tables } = manifest;
  await out.document({ dataDir, startedAt, tables, ...repairs }, () =>
    [
      `${dataDir} has the data of ${startedAt}: ${formatCount(Object.keys(tables).length, 'table')}, equal to the backup`,
      ...showRepairs(repairs),
    ].join('\n'),
  );
  return EXIT.done;
}
