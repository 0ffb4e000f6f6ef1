import type { Funnel } from '../api-types.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { listStarts, type TimePoint } from './charts/time-axis.ts';
import { formatNumber, formatPercent } from './format.ts';

type Loss = Funnel['losses'][number];

/** Step of the funnel with what is lost after it. */
export interface FunnelStep {
  readonly name: 'Arrived' | 'Eligible' | 'Sampled' | 'Scored';
  readonly count: number;
  /** Share of what arrived. */
  readonly share: number;
  /** Share of the eligible; '' before it. */
  readonly note: string;
  readonly losses: readonly Loss[];
}

const STEPS = [
  { key: 'arrived', name: 'Arrived' },
  { key: 'eligible', name: 'Eligible' },
  { key: 'sampled', name: 'Sampled' },
  { key: 'scored', name: 'Scored' },
] as const;

/** Builds the steps of a funnel, each with its losses, the largest first. */
export function buildFunnel(funnel: Funnel): FunnelStep[] {
  return STEPS.map(({ key, name }) => ({
    name,
    count: funnel[key],
    share: funnel.arrived === 0 ? 0 : funnel[key] / funnel.arrived,
    note:
      key === 'sampled' || key === 'scored'
        ? `${formatPercent(funnel[key], funnel.eligible)} of eligible`
        : '',
    losses: funnel.losses.filter(({ after }) => after === key).toSorted((a, b) => b.count - a.count),
  }));
}

/** Lists the scored share of each step of the range; a step without eligible pairs is a gap. */
export function listTrend({ trend, bucket, since, until }: Funnel): TimePoint[] {
  const step = bucket === '1h' ? HOUR_MS : DAY_MS;
  const first = Math.floor(Date.parse(since) / step) * step;
  const shares = new Map(trend.map((each) => [Date.parse(each.bucket), each]));
  return listStarts(first, Date.parse(until), step).map((at) => {
    const { eligible = 0, scored = 0 } = shares.get(at) ?? {};
    return { at, n: eligible, value: eligible === 0 ? null : scored / eligible };
  });
}

/** Names a reason: `no_content` becomes `no content`. */
export function nameReason(reason: string): string {
  return reason.replaceAll('_', ' ');
}

/** Writes the main reason why eligible targets have no score. */
export function describeFunnel(funnel: Funnel): string {
  const { runs, eligible, scored } = funnel;
  const worst = funnel.losses
    .filter(({ after }) => after !== 'arrived')
    .toSorted((a, b) => b.count - a.count)[0];
  const main =
    worst === undefined
      ? ''
      : ` Most of the rest: ${nameReason(worst.reason)} (${formatNumber(worst.count)}).`;
  return eligible === 0
    ? `No rule selected anything of ${formatNumber(runs)} runs.`
    : `${formatPercent(scored, eligible)} of what the rules selected has a score, on ${formatNumber(runs)} runs.${main}`;
}
