import { InvalidInputError } from '../domain/errors.ts';
import { type BacktestResult, type BacktestSeries, startBacktest } from '../monitors/backtest.ts';
import { SCORE_STEPS } from '../monitors/bucket.ts';
import type { MonitorGroup } from '../monitors/rule.ts';
import { createScoreSpool } from './score-spool.ts';

const DAY_MS = 86_400_000;

/** Scores of one day of one series. */
export interface DayMean {
  /** Start of the day, UTC, Unix milliseconds. */
  readonly dayMs: number;
  readonly mean: number;
  readonly count: number;
}

export interface Backtest {
  readonly results: readonly BacktestResult[];
  /** Mean per day, by name of the series. */
  readonly days: ReadonlyMap<string, readonly DayMean[]>;
}

/** A score to test on, and its series. */
export interface ScoreOfSeries {
  readonly series: BacktestSeries;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score in thousandths. */
  readonly step: number;
}

/** What rules would have done on scores that come in any order. Series are told apart by name. */
export async function backtestScores(
  groups: readonly MonitorGroup[],
  scores: AsyncIterable<ScoreOfSeries>,
): Promise<Backtest> {
  const spool = createScoreSpool();
  try {
    const positions = new Map<string, number>();
    const all: BacktestSeries[] = [];
    for await (const { series, atMs, step } of scores) {
      const position = positions.get(series.name) ?? all.push(series) - 1;
      positions.set(series.name, position);
      await spool.add({ series: position, atMs, step });
    }
    if (all.length === 0) {
      throw new InvalidInputError('there are no scores to test on');
    }
    const backtest = startBacktest(groups, all);
    const sums = all.map(() => new Map<number, [count: number, sum: number]>());
    for await (const record of spool.inOrder()) {
      backtest.add(record);
      const day = Math.floor(record.atMs / DAY_MS) * DAY_MS;
      const [count, sum] = sums[record.series]?.get(day) ?? [0, 0];
      sums[record.series]?.set(day, [count + 1, sum + record.step / SCORE_STEPS]);
    }
    const days = new Map(all.map(({ name }, index) => [name, daysOf(sums[index] ?? new Map())]));
    return { results: backtest.finish(), days };
  } finally {
    await spool.dispose();
  }
}

function daysOf(sums: ReadonlyMap<number, readonly [count: number, sum: number]>): DayMean[] {
  return [...sums].map(([dayMs, [count, sum]]) => ({ dayMs, mean: sum / count, count }));
}
