import { formatCount } from '../../domain/plural.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { readPasswordFile } from '../input/input-file.ts';

interface MoveCommandOptions {
  readonly to: string;
  readonly database?: string;
  readonly passwordFile?: string;
}

export const registerMove: RegisterCommand = (program, bind) => {
  withExamples(program.command('move'), [
    [
      'to a server',
      'spanscore move --to http://spanscore@clickhouse:8123 --password-file /run/secrets/clickhouse',
    ],
  ])
    .requiredOption('--to <url>', 'HTTP address of the server: http://user@host:8123')
    .option('--password-file <file>', 'file with the password of the user, instead of one in the URL')
    .option('--database <name>', 'new database of the server (default: store.database)')
    .action(bind(move, { stopsItself: true }));
};

async function move(context: CommandContext, options: MoveCommandOptions): Promise<ExitCode> {
  const { cwd, out, log, signal } = context;
  const { config } = await context.loadConfig();
  const { passwordFile } = options;
  const password = passwordFile === undefined ? undefined : await readPasswordFile(cwd, passwordFile);
  const { moveStore, parseTarget } = await import('../../backup/backup.ts');
  const report = await moveStore(
    config,
    { to: parseTarget(options.to, password), database: options.database ?? config.store.database },
    { log, signal, onProgress: (message) => out.progress(message) },
  );
  const { url, database, hasEndedBefore, copied } = report;
  const result = hasEndedBefore
    ? 'an earlier move has ended there, and nothing was copied'
    : `${formatCount(copied, 'row')} copied, all tables equal`;
  await out.document(report, () =>
    [
      `moved to ${url}, database ${database}: ${result}`,
      `now set store.url: ${url}, store.database: ${database}, store.purgeKey: the text of ${config.store.dataDir}/purge.key, and start serve`,
    ].join('\n'),
  );
  return EXIT.done;
}
