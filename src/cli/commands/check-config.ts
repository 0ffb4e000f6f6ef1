import { configuredMonitors } from '../../monitors/live/configured-monitors.ts';
import { listFaults } from '../../config/config-control.ts';
import { ConfigError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';

export const registerCheckConfig: RegisterCommand = (program, bind) => {
  withExamples(program.command('check-config [file]'), [
    ['the configuration of this folder', 'spanscore check-config'],
    ['another file', 'spanscore check-config deploy/spanscore.config.yaml'],
  ]).action(bind(async (context, file: string | undefined) => checkConfig(context, file)));
};

async function checkConfig(context: CommandContext, file: string | undefined) {
  const loaded = await context
    .loadConfig({ file, checksParts: true, loadsModules: true })
    .catch((error: unknown) => {
      if (context.globals.json === true && error instanceof ConfigError) {
        return error;
      }
      throw error;
    });
  if (loaded instanceof ConfigError) {
    await context.out.document({ ok: false, issues: listFaults(loaded) }, () => loaded.message);
    return EXIT.config;
  }
  const { loadScorerKit } = await import('../../scoring/setup/scorer-kit.ts');
  await loadScorerKit(loaded.config, context);
  const rules = loaded.config.rules.map((rule) => ({ name: rule.name, scorers: rule.scorers }));
  const monitors = (await configuredMonitors(loaded.config)).flatMap(({ rules: members }) =>
    members.map(({ alert, detection }) => ({ alert, detector: detection.kind })),
  );
  const result = {
    ok: true,
    file: loaded.file ?? null,
    warnings: loaded.warnings,
    notes: loaded.notes,
    rules,
    monitors,
  };
  await context.out.document(result, () =>
    [
      loaded.file === undefined
        ? 'no configuration file here: default values apply'
        : `${loaded.file} can be used`,
      ...rules.map((rule) => `rule ${rule.name}: ${rule.scorers.join(', ')}`),
      ...monitors.map(({ alert, detector }) => `monitor ${alert}: ${detector}`),
      ...(rules.length === 0 ? ['no rules: nothing is scored'] : []),
      ...loaded.notes,
    ].join('\n'),
  );
  return EXIT.done;
}
