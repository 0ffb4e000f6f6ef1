import { formatCount } from '../../domain/plural.ts';
import { isoTime } from '../../api/json/time-json.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { buildMonitorGroups } from '../../app/monitors/monitor-groups.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { loadMonitorFiles, loadMonitorTests, findSeriesFaults } from '../../config/index.ts';
import type { BacktestResult } from '../../monitors/backtest.ts';
import { type Detection, type MonitorGroup, type MonitorRule, buildSplits } from '../../monitors/rule.ts';
import type { Transition } from '../../monitors/series.ts';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { alertChart } from '../show/alert-chart.ts';
import { backtestScores, type ScoreOfSeries } from '../../app/backtest/backtest-scores.ts';
import { storedScores } from '../../app/backtest/stored-scores.ts';
import { parseMoment } from '../arguments.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { addIncidentCommands } from '../alerts/alert-incidents.ts';
import { type MonitorTestOutcome, runMonitorTest } from '../alerts/run-monitor-tests.ts';
import { readScoreLines } from '../alerts/score-file.ts';

/** Default range of stored scores for a backtest. */
const STORED_SINCE = '30d';

/** Detectors over the results of attempts. Score rows do not hold these results. */
const OF_OUTCOMES: ReadonlySet<Detection['kind']> = new Set(['scorer_errors', 'coverage']);

interface RulesOptions {
  readonly rules: string[];
}

interface BacktestOptions extends RulesOptions {
  readonly scores?: string;
  readonly since: number;
}

export const registerAlerts: RegisterCommand = (program, bind) => {
  const alerts = program
    .command('alerts')
    .description(
      'Score-drift alerts: states of monitors, incidents, mutes; checks, tests and backtests of rule files.',
    )
    .addHelpText(
      'before',
      examples(
        ['states of all monitors', 'spanscore alerts list'],
        ['incidents of this week', 'spanscore alerts list --incidents --since 7d'],
        ['accept a change as normal', 'spanscore alerts ack <incident>'],
        ['no messages for two hours', 'spanscore alerts mute HallucinationDrift --for 2h'],
        ['check rule files', "spanscore alerts check --rules 'monitors/*.yaml'"],
        ['run tests of rules', 'spanscore alerts test monitors/quality.test.yaml'],
        ['when rules would have fired this month', 'spanscore alerts backtest --rules monitors/quality.yaml'],
        [
          'the same on the scores in a file',
          'spanscore alerts backtest --rules monitors/quality.yaml --scores scores.ndjson',
        ],
      ),
    );
  alerts
    .command('check')
    .description('Check rule files. Print every fault.')
    .requiredOption('--rules <files...>', 'rule files, or glob patterns')
    .action(bind(check));
  alerts
    .command('test')
    .description('Run tests of rules. Exit code 1 when an expectation fails.')
    .argument('<files...>', 'test files')
    .action(bind(test));
  alerts
    .command('backtest')
    .description('Print when rules would have fired on stored scores or on the scores in a file.')
    .requiredOption('--rules <files...>', 'rule files, or glob patterns')
    .option(
      '--scores <file>',
      'read this file instead of the store: lines of {"series":"a","scoredAt":"2026-01-01T00:03:10Z","score":0.83}, score directed (1 is good), any order; - is stdin',
    )
    .addOption(
      new Option('--since <when>', 'stored scores of runs that began since 30d, or a date and time')
        .argParser(parseMoment)
        .default(parseMoment(STORED_SINCE), STORED_SINCE),
    )
    .action(bind(backtest));
  addIncidentCommands(alerts, bind);
};

async function check(context: CommandContext, options: RulesOptions): Promise<ExitCode> {
  const sources = await readScoreSources(context);
  for (const { path, groups } of await loadMonitorFiles(options.rules, context.cwd, sources)) {
    const rules = groups.flatMap((group) => group.rules.map(({ alert, detector }) => ({ alert, detector })));
    await context.out.item({ file: path, ok: true, rules }, () =>
      [`${path} can be used`, ...rules.map(({ alert, detector }) => `  ${alert}: ${detector}`)].join('\n'),
    );
  }
  return EXIT.done;
}

/** Reads what gives monitors their scores: the scorers and rules of the configuration. */
async function readScoreSources(context: CommandContext) {
  const { config } = await context.loadConfig();
  return { ...config, known: PREBUILT_SCORERS };
}

async function backtest(context: CommandContext, options: BacktestOptions): Promise<ExitCode> {
  const files = await loadMonitorFiles(options.rules, context.cwd);
  const groups = buildMonitorGroups(files.flatMap((file) => file.groups));
  for (const { alert, detection } of groups.flatMap(({ rules }) => rules)) {
    if (OF_OUTCOMES.has(detection.kind)) {
      context.out.talk(
        `${alert} cannot fire here: a backtest reads scores, and this detector needs failed and waiting attempts`,
      );
    }
  }
  const { results, days } = await backtestScores(groups, await openScores(context, options, groups));
  if (days.size === 0) {
    throw new InvalidInputError('there are no scores to test on');
  }
  for (const result of results) {
    await context.out.item(resultJson(result), () => alertChart(result, days.get(result.series) ?? []));
  }
  const sources = options.scores === undefined ? await readScoreSources(context) : undefined;
  const watching = new Set(results.map(({ alert }) => alert));
  for (const rule of groups.flatMap(({ rules }) => rules)) {
    if (!rule.paused && !watching.has(rule.alert)) {
      const nothing = { series: null, scores: 0, checks: 0, finalState: null, events: [] };
      await context.out.item({ alert: rule.alert, ...nothing }, () => showUnwatched(rule));
      for (const { message } of sources === undefined ? [] : findSeriesFaults(rule.series, sources)) {
        context.out.talk(`${rule.alert}: ${message}`);
      }
    }
  }
  return EXIT.done;
}

/** Says that no series is one of a rule, and what the rule asks of a series. */
function showUnwatched({ alert, series, split }: MonitorRule): string {
  const asked = [
    ...Object.entries(series).map(([facet, value]) => `${facet} ${value}`),
    ...(split === undefined
      ? []
      : [`${formatCount(split.minDailyScores, 'score')} on a day for each ${split.by.join(', ')}`]),
  ];
  return `${alert} watched nothing: no series of these scores has ${asked.join(', ')}`;
}

async function openScores(
  context: CommandContext,
  { scores, since }: BacktestOptions,
  groups: readonly MonitorGroup[],
): Promise<AsyncIterable<ScoreOfSeries>> {
  if (scores !== undefined) {
    return readScoreLines(scores, context);
  }
  const { store } = await context.openApp();
  const splits = buildSplits(groups.flatMap(({ rules }) => rules));
  return storedScores(store.monitorView, { fromMs: since, toMs: Date.now() }, splits);
}

async function test(context: CommandContext, files: readonly string[]): Promise<ExitCode> {
  let failed = 0;
  for (const name of files) {
    const { path, rules, tests } = await loadMonitorTests(resolve(context.cwd, name));
    const groups = buildMonitorGroups(rules.flatMap((file) => file.groups));
    for (const outcome of tests.flatMap((one) => runMonitorTest(one, groups))) {
      failed += outcome.ok ? 0 : 1;
      await context.out.item({ file: path, ...outcome }, () => showOutcome(outcome));
    }
  }
  if (failed > 0) {
    context.out.talk(`${failed} ${failed === 1 ? 'expectation' : 'expectations'} failed`);
  }
  return failed > 0 ? EXIT.failed : EXIT.done;
}

function showOutcome({ test: name, alert, series, at, ok, expected, found }: MonitorTestOutcome): string {
  const line = `${ok ? 'ok  ' : 'FAIL'} ${name}: ${alert} on ${series} at ${at}`;
  if (ok) {
    return line;
  }
  return found === null
    ? `${line}: the rule or the series does not exist`
    : `${line}\n       expected ${tell(expected)}\n       found    ${tell(found)}`;
}

function tell({
  state,
  firings,
}: {
  readonly state?: string | undefined;
  readonly firings?: number | undefined;
}): string {
  const parts = [
    ...(state === undefined ? [] : [state]),
    ...(firings === undefined ? [] : [formatCount(firings, 'firing')]),
  ];
  return parts.join(', ');
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
