import { formatCount } from '../../domain/plural.ts';
import { isoTime } from '../../api/json/rows.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { buildMonitorGroups } from '../../monitors/live/configured-monitors.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import {
  loadMonitorFiles,
  loadMonitorTests,
  findSeriesFaults,
  durationMs,
  type MonitorTest,
} from '../../config/index.ts';
import { type BacktestResult, type ScoreRecord, createBacktest } from '../../monitors/backtest.ts';
import { type MonitorGroup, type MonitorRule, buildSplits, OF_OUTCOMES } from '../../monitors/rule.ts';
import type { Transition, Phase } from '../../monitors/series.ts';
import { resolve } from 'node:path';
import { Option } from 'commander';
import {
  backtestScores,
  type ScoreOfSeries,
  type DayMean,
  storedScores,
} from '../../monitors/live/backtest-scores.ts';
import { parseMoment } from '../arguments.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { addIncidentCommands } from '../alerts/alert-incidents.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { z } from 'zod';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import { readJsonLines } from '../input/json-lines.ts';
import { addExplainCommand } from '../alerts/explain-alert.ts';

/** Series of lines that name no series. */
const UNNAMED_SERIES = 'scores';

const LINE = {
  form: 'a line is {"series":"a","scoredAt":"2026-01-01T00:03:10Z","score":0.83}, the score directed: 0 worst, 1 best',
  schema: z.object({
    series: z.string().default(UNNAMED_SERIES),
    scoredAt: z.iso.datetime({
      offset: true,
      error: 'write a date and time with its zone, like 2026-01-01T00:03:10Z',
    }),
    score: z.number().min(0).max(1),
  }),
};

const WIDTH = 40;

/** Limit of days shown, counted from the last day. */
const MAX_DAYS = 60;

/** Default range of stored scores for a backtest. */
const STORED_SINCE = '30d';

interface RulesOptions {
  readonly rules: string[];
}

interface BacktestOptions extends RulesOptions {
  readonly scores?: string;
  readonly since: number;
}

export const registerAlerts: RegisterCommand = (program, bind) => {
  const alerts = withExamples(program.command('alerts'), [
    ['states of all monitors', 'spanscore alerts list'],
    ['incidents of this week', 'spanscore alerts list --incidents --since 7d'],
    ['why the scores of an incident fell', 'spanscore alerts explain <incident>'],
    ['accept a change as normal', 'spanscore alerts ack <incident>'],
    ['no messages for two hours', 'spanscore alerts mute HallucinationDrift --for 2h'],
    ['check rule files', "spanscore alerts check --rules 'monitors/*.yaml'"],
    ['run tests of rules', 'spanscore alerts test monitors/quality.test.yaml'],
    ['when rules would have fired this month', 'spanscore alerts backtest --rules monitors/quality.yaml'],
    [
      'the same on the scores in a file',
      'spanscore alerts backtest --rules monitors/quality.yaml --scores scores.ndjson',
    ],
  ]);
  alerts
    .command('check')
    .description('Check rule files. Print every fault.')
    .requiredOption('--rules <files...>', 'rule files, or glob patterns')
    .action(bind(check));
  alerts
    .command('test')
    .description('Run tests of rules. Exit code 1 when an expectation fails.')
    .argument('<files...>', 'test files')
    .action(bind(runTests));
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
    .action(bind(runBacktest));
  addExplainCommand(alerts, bind);
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

async function runBacktest(context: CommandContext, options: BacktestOptions): Promise<ExitCode> {
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

async function runTests(context: CommandContext, files: readonly string[]): Promise<ExitCode> {
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

/**
 * Draws the mean of each day as a bar, the baseline or the limit as a mark, and the times at which the alert fired and ended:
 * `2026-01-20 0.71 ████████████████████████████│    720  firing 10:05`.
 */
function alertChart(result: BacktestResult, days: readonly DayMean[]): string {
  const { alert, series, baseline, limit, scores, checks, finalState } = result;
  const head = `${alert} on ${series}: ${formatCount(scores, 'score')}, ${formatCount(checks, 'check')}, now ${finalState}${baseline === null ? '' : `, baseline ${baseline.toFixed(3)}`}${limit === null ? '' : `, limit ${limit.toFixed(3)}`}`;
  const left = days.length - MAX_DAYS;
  const rows = days.slice(-MAX_DAYS).map((day) => formatRow(day, result));
  return [head, ...(left > 0 ? [`  (${left} earlier days not shown)`] : []), ...rows].join('\n');
}

function formatRow(
  { dayMs, mean, count }: DayMean,
  { baseline, limit, transitions }: BacktestResult,
): string {
  const line = baseline ?? limit;
  const pairs: string[] = Array.from({ length: WIDTH + 1 }, (_, pair) =>
    pair < Math.round(mean * WIDTH) ? '█' : ' ',
  );
  if (line !== null) {
    pairs[Math.round(line * WIDTH)] = '│';
  }
  const happened = transitions
    .filter(({ atMs }) => atMs >= dayMs && atMs < dayMs + DAY_MS)
    .map(({ to, atMs }) => `${to} ${(isoTime(atMs) ?? '').slice(11, 16)}`);
  const tail = happened.length === 0 ? '' : `  ${happened.join(', ')}`;
  const date = (isoTime(dayMs) ?? '').slice(0, 10);
  return `  ${date}  ${mean.toFixed(3)}  ${pairs.join('')} ${String(count).padStart(6)}${tail}`;
}

/**
 * Reads the lines `{ series?, scoredAt, score }` of a file (`-`: stdin) in order. Throws an `InvalidInputError` that names the first
 * invalid line.
 */
export async function* readScoreLines(
  name: string,
  context: Pick<CommandContext, 'cwd' | 'stdin'>,
): AsyncGenerator<ScoreOfSeries> {
  for await (const { value } of readJsonLines(name, LINE, context)) {
    const { series, scoredAt, score } = value;
    yield {
      series: { name: series },
      atMs: Date.parse(scoredAt),
      step: Math.round(score * SCORE_STEPS),
    };
  }
}

interface MonitorTestOutcome {
  readonly test: string;
  readonly alert: string;
  readonly series: string;
  /** Time since the start of the test at which the state was read, as written in the file; `end` without a time. */
  readonly at: string;
  readonly ok: boolean;
  readonly expected: Readonly<{ state?: Phase | undefined; firings?: number | undefined }>;
  /** Null when the rule or the series does not exist. */
  readonly found: Readonly<{ state: Phase; firings: number }> | null;
}

/** Folds the series of a test into the rules. Runs once for each time that has an expectation. */
export function runMonitorTest(test: MonitorTest, groups: readonly MonitorGroup[]): MonitorTestOutcome[] {
  const startMs = Date.parse(test.start);
  const records = buildRecords(test, startMs);
  const endMs = Math.max(...records.ends);
  const results = new Map<number, BacktestResult[]>();
  const resultsAt = (untilMs: number): BacktestResult[] => {
    const known = results.get(untilMs) ?? foldUntil(untilMs);
    results.set(untilMs, known);
    return known;
  };
  return test.expect.map(({ alert, series, at, state, firings }) => {
    const untilMs = at === undefined ? endMs : startMs + durationMs(at);
    const result = resultsAt(untilMs).find((one) => one.alert === alert && one.series === series);
    const found = result === undefined ? null : foundIn(result);
    const ok =
      found !== null &&
      (state === undefined || state === found.state) &&
      (firings === undefined || firings === found.firings);
    return { test: test.name, alert, series, at: at ?? 'end', ok, expected: { state, firings }, found };
  });

  function foldUntil(untilMs: number): BacktestResult[] {
    const backtest = createBacktest(
      groups,
      test.series.map(({ name }) => ({ name })),
    );
    for (const record of records.inOrder) {
      if (record.atMs < untilMs) {
        backtest.add(record);
      }
    }
    return backtest.finish(untilMs);
  }
}

function foundIn({ finalState, transitions }: BacktestResult): { state: Phase; firings: number } {
  return { state: finalState, firings: transitions.filter(({ to }) => to === 'firing').length };
}

function buildRecords(
  test: MonitorTest,
  startMs: number,
): { readonly inOrder: ScoreRecord[]; readonly ends: number[] } {
  const records: ScoreRecord[] = [];
  const ends = test.series.map(({ segments }, series) => {
    let fromMs = startMs;
    for (const segment of segments) {
      const everyMs = durationMs(segment.every);
      const untilMs = fromMs + durationMs(segment.for);
      for (
        let atMs = fromMs, turn = 0;
        atMs < untilMs && segment.scores.length > 0;
        atMs += everyMs, turn += 1
      ) {
        const score = segment.scores[turn % segment.scores.length] ?? 0;
        records.push({ series, atMs, step: Math.round(score * SCORE_STEPS) });
      }
      fromMs = untilMs;
    }
    return fromMs;
  });
  return { inOrder: records.sort((a, b) => a.atMs - b.atMs), ends };
}
