import { durationMs, type MonitorTest } from '../../config/index.ts';
import { type BacktestResult, type ScoreRecord, createBacktest } from '../../monitors/backtest.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { MonitorGroup } from '../../monitors/rule.ts';
import type { Phase } from '../../monitors/series.ts';

/** Result of one expectation. */
export interface MonitorTestOutcome {
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
