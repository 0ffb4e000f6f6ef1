import { type BacktestResult, type BacktestSeries, createBacktest } from '../../monitors/backtest.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { MonitorGroup } from '../../monitors/rule.ts';
import { createScoreSpool } from './score-spool.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Mean of one series on one day. */
export interface DayMean {
  /** Start of the UTC day, Unix milliseconds. */
  readonly dayMs: number;
  readonly mean: number;
  readonly count: number;
}

export interface Backtest {
  readonly results: readonly BacktestResult[];
  /** Means per day, by name of the series. */
  readonly days: ReadonlyMap<string, readonly DayMean[]>;
}

/** One score of a backtest, with its series. */
export interface ScoreOfSeries {
  readonly series: BacktestSeries;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score in thousandths. */
  readonly step: number;
}

/** Runs rules over scores, which may come in any order. The name identifies a series; without scores there are no results. */
export async function backtestScores(
  groups: readonly MonitorGroup[],
  scores: AsyncIterable<ScoreOfSeries>,
): Promise<Backtest> {
  const spool = createScoreSpool();
  try {
    const positions = new Map<string, number>();
    const all: { readonly series: BacktestSeries; readonly days: Map<number, DaySum> }[] = [];
    for await (const { series, atMs, step } of scores) {
      const position = positions.get(series.name) ?? all.push({ series, days: new Map() }) - 1;
      positions.set(series.name, position);
      all[position]?.days.set(...dayAfter(all[position].days, atMs, step));
      await spool.add({ series: position, atMs, step });
    }
    const backtest = createBacktest(
      groups,
      all.map(({ series, days }) => ({ ...series, busiestDayScores: findLargestCount(days) })),
    );
    for await (const record of spool.inOrder()) {
      backtest.add(record);
    }
    const days = new Map(all.map((each) => [each.series.name, listDays(each.days)]));
    return { results: backtest.finish(), days };
  } finally {
    await spool.dispose();
  }
}

/** Number of scores of a day, and their sum in thousandths. */
type DaySum = readonly [count: number, steps: number];

function dayAfter(days: ReadonlyMap<number, DaySum>, atMs: number, step: number): [number, DaySum] {
  const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  const [count, steps] = days.get(dayMs) ?? [0, 0];
  return [dayMs, [count + 1, steps + step]];
}

function findLargestCount(days: ReadonlyMap<number, DaySum>): number {
  return [...days.values()].reduce((most, [count]) => Math.max(most, count), 0);
}

function listDays(days: ReadonlyMap<number, DaySum>): DayMean[] {
  return [...days]
    .sort(([a], [b]) => a - b)
    .map(([dayMs, [count, steps]]) => ({ dayMs, mean: steps / SCORE_STEPS / count, count }));
}
