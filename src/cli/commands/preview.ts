import { Option } from 'commander';
import { resolve } from 'node:path';
import { loadRuleFile, type Config } from '../../app/config/index.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { previewJson } from '../../api/json/preview-json.ts';
import { MOST_SAMPLED } from '../../api/schemas/preview-schema.ts';
import { limitUpTo, parseSpan } from '../arguments.ts';
import { auditCommand } from '../audit-command.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { RequestError } from '../../domain/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { requireRules } from '../input/rule-names.ts';
import { showPreview } from '../show/show-preview.ts';

interface PreviewOptions {
  readonly rule?: string;
  readonly rules?: string;
  readonly last: number;
  readonly sample: number;
}

export const registerPreview: RegisterCommand = (program, bind) => {
  program
    .command('preview')
    .description(
      'Show what a rule would match, score and cost, with some real verdicts. Stores no score; what the verdicts cost counts in the budgets.',
    )
    .option('--rule <name>', 'the rule; may be left out when there is only one')
    .option('--rules <file>', 'a file with rules (and scorers) that is not loaded yet')
    .addOption(
      new Option('--last <duration>', 'traces that began within this time, and sessions whose last turn did')
        .argParser(parseSpan)
        .default(DAY_MS, '24h'),
    )
    .option('--sample <number>', 'traces or sessions that are really judged', limitUpTo(MOST_SAMPLED, 0), 20)
    .addHelpText(
      'before',
      examples(
        ['a rule of the configuration', 'spanscore preview --rule production'],
        [
          'a rule before it is switched on',
          'spanscore preview --rules new-rules.yaml --rule strict --last 7d',
        ],
        ['volume and cost only, without a judge call', 'spanscore preview --rule production --sample 0'],
      ),
    )
    .action(bind(preview, { stopsItself: true }));
};

async function preview(context: CommandContext, options: PreviewOptions): Promise<ExitCode> {
  const { config: loaded } = await context.loadConfig();
  const config =
    options.rules === undefined ? loaded : await addRules(loaded, resolve(context.cwd, options.rules));
  const name = options.rule ?? findOnlyName(config);
  requireRules([name], config);
  const { loadScorerKit } = await import('../../app/scoring/scorer-kit.ts');
  const { createConfiguredScoring } = await import('../../app/scoring/configured-scoring.ts');
  const { previewConfigured } = await import('../../app/preview/preview-configured.ts');
  const { findRule } = await import('../../app/scoring/rule-names.ts');
  const { log, signal, out } = context;
  const kit = await loadScorerKit(config, context);
  const rule = findRule(kit.rules, name);
  const { store, purged, readTrace } = await context.openApp();
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log, signal, purged });
  // The verdicts of a sample cost money, which is stored.
  if (options.sample > 0) {
    await auditCommand(context, 'preview', {
      action: 'rule.preview',
      subjects: [{ kind: 'rule', id: name }],
    });
  }
  const view = await previewConfigured(
    { config, kit, scoring, store },
    { rule, lastMs: options.last, sample: options.sample, tenant: '', listing: signal, judging: signal },
  );
  const json = previewJson(view);
  await out.document(json, () => showPreview(json));
  return signal.aborted ? EXIT.interrupted : EXIT.done;
}

/** Takes the rules of a file in place of those of the configuration, with its scorers beside the others. */
async function addRules(config: Config, path: string): Promise<Config> {
  const { rules, scorers } = await loadRuleFile(path);
  return { ...config, rules: [...rules], scorers: { ...config.scorers, ...scorers } };
}

function findOnlyName({ rules }: Config): string {
  const [only, ...others] = rules;
  if (only === undefined || others.length > 0) {
    throw new RequestError(
      `name the rule with --rule: ${rules.map(({ name }) => name).join(', ') || 'there is none'}`,
    );
  }
  return only.name;
}
