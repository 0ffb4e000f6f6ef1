import { DAY_MS } from '../../domain/durations.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { buildSplits, type Detection } from '../../monitors/rule.ts';
import type { MonitorView } from '../../store/contracts/monitors.ts';
import { backtestScores, type ScoreOfSeries } from '../backtest/backtest-scores.ts';
import { storedScores } from '../backtest/stored-scores.ts';
import type { Config } from '../config/index.ts';
import { configuredMonitors } from '../monitors/configured-monitors.ts';

/** Time before the range whose scores monitors learn from, milliseconds. */
const LEARNING_MS = 30 * DAY_MS;

/** Detectors over the results of attempts, which score rows do not hold. */
const OF_OUTCOMES: ReadonlySet<Detection['kind']> = new Set(['scorer_errors', 'coverage']);

/** Monitor of the scorers of a rule, run over their stored scores. */
export interface TestedMonitor {
  readonly alert: string;
  readonly series: string;
  /** Scores that it has read. */
  readonly scores: number;
  /** Times in the range at which it would have fired, Unix milliseconds. */
  readonly firedAtMs: readonly number[];
}

export interface MonitorTerms {
  /** Names of the scorers of the rule. */
  readonly scorers: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** '' for all tenants. */
  readonly tenant: string;
}

/** Runs the monitors over the stored live scores of some scorers. Throws a `ConfigError` for monitors that cannot be used. */
export async function backtestMonitors(
  config: Config,
  view: Pick<MonitorView, 'pastScores'>,
  { scorers, fromMs, toMs, tenant }: MonitorTerms,
): Promise<TestedMonitor[]> {
  const groups = (await configuredMonitors(config)).map((group) => ({
    ...group,
    rules: group.rules.filter(
      ({ series, detection }) =>
        !OF_OUTCOMES.has(detection.kind) &&
        (series.scorer === undefined || findRowScorer(series.scorer, scorers) !== undefined),
    ),
  }));
  const rules = groups.flatMap((group) => group.rules);
  if (rules.length === 0) {
    return [];
  }
  const range = { fromMs: fromMs - LEARNING_MS, toMs };
  const scores = chooseScores(storedScores(view, range, buildSplits(rules)), scorers, tenant);
  const { results } = await backtestScores(groups, scores);
  return results.map(({ alert, series, scores: count, transitions }) => ({
    alert,
    series,
    scores: count,
    firedAtMs: transitions.flatMap(({ to, atMs }) => (to === 'firing' && atMs >= fromMs ? [atMs] : [])),
  }));
}

async function* chooseScores(
  all: AsyncIterable<ScoreOfSeries>,
  scorers: readonly string[],
  tenant: string,
): AsyncGenerator<ScoreOfSeries> {
  for await (const score of all) {
    const { facets } = score.series;
    const isOurs = facets !== undefined && findRowScorer(facets.scorer, scorers) !== undefined;
    if (isOurs && (tenant === '' || facets.tenant === tenant)) {
      yield score;
    }
  }
}
