import { formatCount } from '../../domain/plural.ts';
import type { BacktestResult } from '../../monitors/backtest.ts';
import { isoTime } from '../../api/json/time-json.ts';
import type { DayMean } from '../../app/backtest/backtest-scores.ts';
import { DAY_MS } from '../../domain/durations.ts';

const WIDTH = 40;
/** Limit of days shown, counted from the last day. */
const MAX_DAYS = 60;

/**
 * Draws the mean of each day as a bar, the baseline or the limit as a mark, and the times at which the alert fired and ended:
 * `2026-01-20 0.71 ████████████████████████████│    720  firing 10:05`.
 */
export function alertChart(result: BacktestResult, days: readonly DayMean[]): string {
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
  const cells: string[] = Array.from({ length: WIDTH + 1 }, (_, cell) =>
    cell < Math.round(mean * WIDTH) ? '█' : ' ',
  );
  if (line !== null) {
    cells[Math.round(line * WIDTH)] = '│';
  }
  const happened = transitions
    .filter(({ atMs }) => atMs >= dayMs && atMs < dayMs + DAY_MS)
    .map(({ to, atMs }) => `${to} ${(isoTime(atMs) ?? '').slice(11, 16)}`);
  const tail = happened.length === 0 ? '' : `  ${happened.join(', ')}`;
  const date = (isoTime(dayMs) ?? '').slice(0, 10);
  return `  ${date}  ${mean.toFixed(3)}  ${cells.join('')} ${String(count).padStart(6)}${tail}`;
}
