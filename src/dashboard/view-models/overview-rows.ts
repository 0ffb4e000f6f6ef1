import type { Item, Replies } from '../api-types.ts';
import { formatDuration, formatNumber, formatPercent, formatScore } from './format.ts';

export type OverviewLine = Item<'/overview'>;
type OverviewReply = Replies['/overview'];

/** Row of the table of scorers, as texts. */
export interface OverviewRow {
  readonly mean: string;
  readonly baseline: string;
  /** Difference to the baseline in words. */
  readonly change: string;
  readonly counts: string;
  readonly trend: string;
}

/** Writes a line of the overview for people. */
export function overviewRow(line: OverviewLine): OverviewRow {
  const { mean, baseline, n, eligible, scored, higherIsBetter } = line;
  return {
    mean: formatScore(mean),
    baseline:
      baseline === null ? 'none yet' : `${formatScore(baseline.mean)} (n = ${formatNumber(baseline.n)})`,
    change: describeChange(mean, baseline?.mean ?? null, higherIsBetter),
    counts: describeCounts(scored ?? n, eligible),
    trend: describeTrend(line),
  };
}

/** Writes how many of the eligible targets have a score: `412 of 5,130 (8 %)`; only `412` where their number is not known. */
export function describeCounts(n: number, eligible: number | null): string {
  if (eligible === null) {
    return formatNumber(n);
  }
  const share = eligible === 0 ? '' : ` (${formatPercent(n, eligible)})`;
  return `${formatNumber(n)} of ${formatNumber(eligible)}${share}`;
}

/** Age of scores without sums that is told, seconds. */
const TOLD_SECONDS = 60;

/** Writes how far the sums are behind the scores; nothing for less than a minute. */
export function describeSums({ behindSeconds }: OverviewReply['sums']): string {
  return behindSeconds < TOLD_SECONDS
    ? ''
    : `Sums are ${formatDuration(behindSeconds * 1_000)} behind: newer scores are counted one by one.`;
}

/** Least difference of two means that is written as a change. */
const LEAST_CHANGE = 0.0005;

/** Writes the difference of a mean to the mean before, by the direction of the score: `0.12 worse`. */
export function describeChange(
  mean: number | null,
  before: number | null,
  isHigherBetter: boolean | null,
): string {
  if (mean === null || before === null) {
    return 'not known';
  }
  const difference = mean - before;
  if (Math.abs(difference) < LEAST_CHANGE) {
    return '= no change';
  }
  const size = formatScore(Math.abs(difference));
  if (isHigherBetter === null) {
    return difference > 0 ? `▲ ${size} higher` : `▼ ${size} lower`;
  }
  return difference > 0 === isHigherBetter ? `▲ ${size} better` : `▼ ${size} worse`;
}

function describeTrend({ series }: OverviewLine): string {
  const means = series.flatMap(({ mean }) => (mean === null ? [] : [mean]));
  return means.length === 0
    ? 'no scores'
    : `${means.length} of ${series.length} buckets have scores; the first mean is ${formatScore(means[0])}, the last ${formatScore(means.at(-1))}`;
}
