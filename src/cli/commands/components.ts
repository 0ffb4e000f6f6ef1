import { CHANNELS, EXPORTERS, PREBUILT_SCORERS, RECEIVERS } from '../../components.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { packageVersion } from '../../app/package-version.ts';

export const registerComponents: RegisterCommand = (program, bind) => {
  program
    .command('components')
    .description('List the receivers, conventions, scorers, exporters and alert channels of this version.')
    .addHelpText('before', examples(['names to use in a configuration', 'spanscore components']))
    .action(bind(components));
};

async function components(context: CommandContext) {
  const { CONVENTIONS } = await import('../../conventions/registry.ts');
  const listed = {
    version: packageVersion(),
    receivers: RECEIVERS.map(({ name, key, options }) => ({ name, key, summary: options.description })),
    conventions: CONVENTIONS.map((convention) => ({ name: convention.name })),
    scorers: PREBUILT_SCORERS.map(({ name, needsJudge, measures }) => ({
      name,
      needsJudge,
      summary: `Measures ${measures}.`,
    })),
    exporters: EXPORTERS.map(({ name, options }) => ({
      name,
      key: `exporters.${name}`,
      summary: options.description,
    })),
    channels: CHANNELS.map(({ name, options }) => ({
      name,
      key: `alerts.${name}`,
      summary: options.description,
    })),
  };
  await context.out.document(listed, () =>
    [
      `spanscore ${listed.version}`,
      `receivers    ${listed.receivers.map((each) => each.name).join(', ')}`,
      `conventions  ${listed.conventions.map((each) => each.name).join(', ')}`,
      `scorers      ${listed.scorers.map((each) => (each.needsJudge ? `${each.name} (asks a judge)` : each.name)).join(', ')}`,
      `exporters    ${listed.exporters.map((each) => each.name).join(', ')}`,
      `channels     ${listed.channels.map((each) => each.name).join(', ')} (of alerts)`,
    ].join('\n'),
  );
  return EXIT.done;
}
