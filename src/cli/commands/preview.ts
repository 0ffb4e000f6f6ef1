import { resolve } from 'node:path';
import { loadRuleFile, type Config } from '../../configuration.ts';
import { NewPreview, type previewJson } from '../../api/resources/previews.ts';
import { addRequestOptions } from '../input/request-options.ts';
import { openApi, openScoring } from '../open-api.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { RequestError } from '../../domain/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { requireRules } from '../input/names.ts';
import { formatAbout, formatCount } from '../../domain/plural.ts';
import { cleanLine } from '../show/clean-text.ts';
import { showEstimate, showMoney } from '../show/show-backfill.ts';
import { showReasons } from '../show/show-target.ts';

interface PreviewOptions {
  readonly rule?: string;
  readonly rules?: string;
  readonly last: string;
  readonly sample: number;
}

export const registerPreview: RegisterCommand = (program, bind) => {
  const ofRequest = NewPreview.pick({ last: true, sample: true });
  const command = addRequestOptions(program.command('preview'), ofRequest, { last: 'duration' });
  withExamples(command, [
    ['a rule of the configuration', 'spanscore preview --rule production'],
    ['a rule before it is switched on', 'spanscore preview --rules new-rules.yaml --rule strict --last 7d'],
    ['volume and cost only, without a judge call', 'spanscore preview --rule production --sample 0'],
  ])
    .option('--rule <name>', 'the rule; may be left out when there is only one')
    .option('--rules <file>', 'a file with rules (and scorers) that is not loaded yet')
    .action(bind(runPreview, { stopsItself: true }));
};

async function runPreview(context: CommandContext, options: PreviewOptions): Promise<ExitCode> {
  const { config: loaded } = await context.loadConfig();
  const config =
    options.rules === undefined ? loaded : await addRules(loaded, resolve(context.cwd, options.rules));
  const name = options.rule ?? findOnlyName(config);
  requireRules([name], config);
  const { onDemand } = await openScoring(context, { config });
  const api = await openApi(context, 'preview', { config, onDemand });
  const { last, sample } = options;
  const body = { rule: name, last, sample };
  const preview = await api.write<Preview>('POST', '/preview', { body });
  await context.out.document(preview, () => showPreview(preview));
  return context.signal.aborted ? EXIT.interrupted : EXIT.done;
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

type Preview = ReturnType<typeof previewJson>;

type PreviewedTrace = Preview['traces'][number];

type Verdict = PreviewedTrace['verdicts'][number];

function showPreview(preview: Preview): string {
  const { rule, from, to, matched, selected, left, isComplete, estimate, traces, monitors, costUsd } =
    preview;
  const target = rule.target === 'session' ? 'session' : 'trace';
  return [
    `rule ${rule.name} on ${rule.target}, ${from} to ${to}: ${showForce(rule.inForce)}`,
    [
      formatCount(matched, target),
      `${selected} would be scored`,
      ...showReasons('left out', left),
      ...(isComplete ? [] : [`not all ${target}s were listed`]),
    ].join(' · '),
    ...showEstimate(estimate),
    showWeek(preview, target),
    ...preview.cascade.map(showCascade),
    ...monitors.map(showMonitor),
    ...(monitors.length === 0 ? ['no monitor watches these scorers'] : []),
    ...(traces.length === 0
      ? []
      : [
          `${formatCount(traces.length, target)} really judged, for ${costUsd === null ? 'an unknown price' : showMoney(costUsd)}:`,
        ]),
    ...traces.flatMap(showTrace),
  ].join('\n');
}

function showForce(inForce: Preview['rule']['inForce']): string {
  return inForce === null
    ? 'not in force'
    : `in force since ${inForce.activeFrom}${inForce.isSame ? '' : ', in another version'}`;
}

function showWeek({ perWeek: { traces, judgeCalls, costUsd } }: Preview, target: string): string {
  const cost = costUsd === null ? 'an unknown price' : `about ${showMoney(costUsd)}`;
  return `a week: ${formatAbout(traces, target)}, ${formatAbout(judgeCalls, 'judge call')}, ${cost}`;
}

function showCascade({ scorer, share, costUsd, width95 }: Preview['cascade'][number]): string {
  const cost = costUsd === null ? 'an unknown price' : `about ${showMoney(costUsd)}`;
  const width = width95 === null ? '' : `, 95 % interval of the mean ${Number(width95.toPrecision(2))} wide`;
  return `cascade ${cleanLine(scorer, 60)} with share ${share}: ${cost}${width}`;
}

function showMonitor({ alert, series, scores, firedAt }: Preview['monitors'][number]): string {
  const fired = firedAt.length === 0 ? 'would not have fired' : `would have fired at ${firedAt.join(', ')}`;
  return `monitor ${cleanLine(alert, 60)} on ${cleanLine(series, 120)}: ${fired} (${formatCount(scores, 'stored score')})`;
}

function showTrace({ traceId, sessionId, reading, verdicts, error }: PreviewedTrace): string[] {
  const runs = reading?.runs ?? [];
  const names = runs.map(
    ({ agent, service, conventions }) =>
      `${cleanLine(agent ?? service ?? 'unnamed', 60)}, read as ${conventions.join(', ') || 'nothing known'}`,
  );
  const unread = reading?.notUnderstood ?? [];
  return [
    `${traceId || cleanLine(sessionId, 120)}  ${names.join('; ') || 'no run'}`,
    ...unread.map(
      ({ name, reason }) => `  not understood: ${cleanLine(name, 80)}: ${cleanLine(reason, 160)}`,
    ),
    ...verdicts.map((verdict) => `  ${showVerdict(verdict)}`),
    ...(error === null ? [] : [`  broken off: ${cleanLine(error, 200)}`]),
  ];
}

function showVerdict({ scorer, status, score, label, reason, stored }: Verdict): string {
  const now =
    score === null
      ? status
      : [String(Number(score.toFixed(4))), cleanLine(label, 40)].filter(Boolean).join(' ');
  const before =
    stored === null
      ? 'none stored'
      : `stored ${Number(stored.score.toFixed(4))}${stored.isSameScorer ? '' : ' (another version)'}`;
  return `${cleanLine(scorer, 60)}  ${now}  (${before})  ${cleanLine(reason, 200)}`.trimEnd();
}
