import { stringify } from 'yaml';
import { parseConfig, type LoadedConfig, shownValue, withoutSecrets } from '../../configuration.ts';
import { listLeaves, showPath } from '../../config/key-path.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { EXIT } from '../exit-codes.ts';
import { table } from '../show/output.ts';

interface PrintOptions {
  readonly defaults?: boolean;
  readonly resolved?: boolean;
}

export const registerConfigPrint: RegisterCommand = (program, bind) => {
  withExamples(program.command('config').command('print'), [
    ['as YAML', 'spanscore config print'],
    ['find the source of a value', 'spanscore config print --resolved'],
  ])
    .description('Print the configuration in use. Secrets are never shown.')
    .option('--defaults', 'print the default values')
    .option('--resolved', 'print each value with its source')
    .action(bind(printConfig));
};

async function printConfig(context: CommandContext, options: PrintOptions) {
  if (options.defaults === true) {
    const config = parseConfig({}, { cwd: context.cwd, scorers: PREBUILT_SCORERS });
    await context.out.document(withoutSecrets(config), () => stringify(withoutSecrets(config)));
    return EXIT.done;
  }
  const loaded = await context.loadConfig();
  if (options.resolved !== true) {
    await context.out.document(withoutSecrets(loaded.config), () => stringify(withoutSecrets(loaded.config)));
    return EXIT.done;
  }
  const values = resolvedValues(loaded);
  await context.out.document({ file: loaded.file ?? null, values }, () =>
    table(
      ['KEY', 'VALUE', 'FROM'],
      values.map((entry) => [
        entry.path,
        JSON.stringify(entry.value),
        [entry.origin, entry.where].filter((part) => part !== '').join(' '),
      ]),
    ),
  );
  return EXIT.done;
}

function resolvedValues(loaded: LoadedConfig) {
  return listLeaves(loaded.config).map(({ path, value }) => {
    const origin = loaded.findOrigin(path);
    return { path: showPath(path), value: shownValue(path, value), origin: origin.kind, where: origin.where };
  });
}
