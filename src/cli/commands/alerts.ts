import { isoTime } from '../../api/time-json.ts';
import { monitorGroupsOf } from '../../app/monitor-groups.ts';
import { findMonitorFiles, loadMonitorFile, type MonitorFile } from '../../config/index.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { BacktestResult } from '../../monitors/backtest.ts';
import type { Transition } from '../../monitors/series.ts';
import { alertChart } from '../alert-chart.ts';
import { backtestScores } from '../backtest-scores.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { readScoreLines } from '../score-file.ts';

interface RulesOptions {
  readonly rules: string[];
}

interface BacktestOptions extends RulesOptions {
  readonly scores: string;
}

export const registerAlerts: RegisterCommand = (program, bind) => {
  const alerts = program
    .command('alerts')
    .description('Score-drift alerts: rules as files, tried on scores of the past.')
    .addHelpText(
      'before',
      examples(
        ['are these rules right?', "spanscore alerts check --rules 'monitors/*.yaml'"],
        [
          'when would they have fired?',
          'spanscore alerts backtest --rules monitors/quality.yaml --scores scores.ndjson',
        ],
      ),
    );
  alerts
    .command('check')
    .description('Say whether rule files can be used, and every fault if not.')
    .requiredOption('--rules <files...>', 'files of rules, or patterns of their paths')
    .action(bind(check));
  alerts
    .command('backtest')
    .description('Say when rules would have fired.')
    .requiredOption('--rules <files...>', 'files of rules, or patterns of their paths')
    .requiredOption(
      '--scores <file>',
      'lines of {"series":"a","scoredAt":"2026-01-01T00:03:10Z","score":0.83}, directed (1 is good), in any order; - is stdin',
    )
    .action(bind(backtest));
};

async function check(context: CommandContext, options: RulesOptions): Promise<ExitCode> {
  for (const { path, groups } of await readRules(context, options)) {
    const rules = groups.flatMap((group) => group.rules.map(({ alert, detector }) => ({ alert, detector })));
    await context.out.item({ file: path, ok: true, rules }, () =>
      [`${path} can be used`, ...rules.map(({ alert, detector }) => `  ${alert}: ${detector}`)].join('\n'),
    );
  }
  return EXIT.done;
}

async function backtest(context: CommandContext, options: BacktestOptions): Promise<ExitCode> {
  const files = await readRules(context, options);
  const groups = monitorGroupsOf(files.flatMap((file) => file.groups));
  const { results, days } = await backtestScores(groups, readScoreLines(options.scores, context));
  for (const result of results) {
    await context.out.item(resultJson(result), () => alertChart(result, days.get(result.series) ?? []));
  }
  return EXIT.done;
}

async function readRules(context: CommandContext, { rules }: RulesOptions): Promise<MonitorFile[]> {
  const files: MonitorFile[] = [];
  const named = new Map<string, string>();
  for (const path of await findMonitorFiles(rules, context.cwd)) {
    const file = await loadMonitorFile(path);
    for (const { alert } of file.groups.flatMap((group) => group.rules)) {
      const other = named.get(alert);
      if (other !== undefined) {
        throw new InvalidInputError(
          `${path} and ${other} both have a rule ${alert}: give them different names`,
        );
      }
      named.set(alert, path);
    }
    files.push(file);
  }
  return files;
}

function resultJson({ alert, series, scores, checks, finalState, transitions }: BacktestResult) {
  return { alert, series, scores, checks, finalState, events: transitions.map(eventJson) };
}

function eventJson({ atMs, to, finding }: Transition) {
  const at = isoTime(atMs);
  return to === 'ok'
    ? { at, state: to }
    : {
        at,
        state: to,
        changeBegan: isoTime(finding.changeBeganMs),
        before: finding.before,
        after: finding.after,
        n: finding.count,
        evidenceLog10: finding.evidenceLog10,
        ...(finding.cut === undefined ? {} : { cut: finding.cut }),
      };
}
