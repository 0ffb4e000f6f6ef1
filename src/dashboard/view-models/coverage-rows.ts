import type { Item } from '../api-types.ts';
import { formatNumber, formatPercent } from './format.ts';

export type CoverageLine = Item<'/coverage'>;

/** Groups of a coverage. */
export const COVERAGE_GROUPS = ['scorer', 'rule', 'service', 'reason'] as const;
export type CoverageGroup = (typeof COVERAGE_GROUPS)[number];

/** Outcomes of decisions on eligible targets, in the order of the bar. */
export const OUTCOMES = [
  { key: 'scored', name: 'Scored', color: 'var(--line-0)' },
  { key: 'notApplicable', name: 'Not applicable', color: 'var(--line-4)' },
  { key: 'deferred', name: 'Deferred', color: 'var(--line-5)' },
  { key: 'failed', name: 'Failed', color: 'var(--worse)' },
  { key: 'sampledOut', name: 'Sampled out', color: 'var(--line)' },
] as const satisfies readonly { key: keyof CoverageLine; name: string; color: string }[];

/** Part of a bar: begin and length as shares. */
export interface BarPart {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly from: number;
  readonly share: number;
}

/** Builds the bar of a line: its outcomes as shares of the eligible decisions. */
export function buildBar(line: CoverageLine): BarPart[] {
  let from = 0;
  return OUTCOMES.map((outcome) => {
    const share = line.eligible === 0 ? 0 : line[outcome.key] / line.eligible;
    const part = { outcome, from, share };
    from += share;
    return part;
  });
}

/** Names the group of a line. */
export function nameLine(line: CoverageLine, by: CoverageGroup): string {
  const value = line[by];
  if (by === 'reason') {
    return `${(line.status ?? '').replaceAll('_', ' ')}: ${value ?? 'without a note'}`;
  }
  return value ?? 'not known';
}

/** Writes a number with its share of the eligible decisions. */
export function withShare(count: number, { eligible }: CoverageLine): string {
  return eligible === 0 ? formatNumber(count) : `${formatNumber(count)} (${formatPercent(count, eligible)})`;
}

/** Writes which share of the whole traffic is scored, as an estimate. */
export function describeEstimate({ estimate }: CoverageLine): string {
  const text = `${formatNumber(estimate.scored)} of ${formatNumber(estimate.eligible)}`;
  return estimate.unweighted === 0
    ? text
    : `${text}, without ${formatNumber(estimate.unweighted)} of unknown weight`;
}
