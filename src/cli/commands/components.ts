import { listComponents, COMPONENTS, PREBUILT_SCORERS } from '../../components.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { packageVersion } from '../../process/package.ts';

export const registerComponents: RegisterCommand = (program, bind) => {
  withExamples(program.command('components'), [
    ['names to use in a configuration', 'spanscore components'],
  ]).action(bind(components));
};

async function components(context: CommandContext) {
  const { CONVENTIONS } = await import('../../conventions/registry.ts');
  const { receivers, exporters, channels } = listComponents(COMPONENTS);
  const listed = {
    version: packageVersion(),
    receivers,
    conventions: CONVENTIONS.map((convention) => ({ name: convention.name })),
    scorers: PREBUILT_SCORERS.map(({ name, needsJudge, measures }) => ({
      name,
      needsJudge,
      summary: `Measures ${measures}.`,
    })),
    exporters,
    channels,
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
