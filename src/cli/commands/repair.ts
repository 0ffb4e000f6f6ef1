import { Option } from 'commander';
import { parseMoment } from '../arguments.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showRepairs } from '../show/show-repairs.ts';

interface RepairOptions {
  readonly since: number;
}

export const registerRepair: RegisterCommand = (program, bind) => {
  program
    .command('repair')
    .description(
      'Make the tables of a store agree after RESTORE of a ClickHouse server. Stop every serve first. spanscore restore does this itself.',
    )
    .addOption(
      new Option('--since <when>', 'when the backup began, as a date and time')
        .argParser(parseMoment)
        .makeOptionMandatory(),
    )
    .addHelpText(
      'before',
      examples(['after RESTORE DATABASE', 'spanscore repair --since 2026-11-24T03:00:00Z']),
    )
    .action(bind(repair));
};

async function repair(context: CommandContext, { since }: RepairOptions): Promise<ExitCode> {
  const { out, log, signal } = context;
  const { config } = await context.loadConfig();
  const { repairStore } = await import('../../app/backup/repair-store.ts');
  const repairs = await repairStore(config, { sinceMs: since, log, signal });
  await out.document({ ...repairs }, () =>
    ['the tables agree: serve may start', ...showRepairs(repairs)].join('\n'),
  );
  return EXIT.done;
}
