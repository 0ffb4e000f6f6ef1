import { showBytes } from '../../domain/byte-sizes.ts';
import { formatCount } from '../../domain/plural.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

export const registerBackup: RegisterCommand = (program, bind) => {
  withExamples(program.command('backup'), [
    ['a backup of today', 'spanscore backup --to "/backups/$(date +%F)"'],
  ])
    .requiredOption('--to <folder>', 'folder of the backup; it must not exist yet')
    .action(bind(backup, { stopsItself: true }));
};

async function backup(context: CommandContext, { to }: { readonly to: string }): Promise<ExitCode> {
  const { out, log, signal } = context;
  const { config } = await context.loadConfig();
  const { makeBackup } = await import('../../backup/backup.ts');
  const manifest = await makeBackup(config, to, {
    log,
    signal,
    onProgress: (message) => out.progress(message),
  });
  const tables = Object.values(manifest.tables);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  await out.document({ to, ...manifest }, () =>
    [
      `${to}: ${formatCount(tables.length, 'table')}, ${formatCount(rows, 'row')}, ${showBytes(manifest.bytes)}`,
      `restore it with: spanscore restore --from ${to} --data-dir <empty folder>`,
    ].join('\n'),
  );
  return EXIT.done;
}
