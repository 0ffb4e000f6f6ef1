import type { Item, Replies } from '../../api-types.ts';
import { formatDirection, formatNumber, formatScore, formatTime } from '../format.ts';

export type SeriesReply = Replies['/series'];
export type SeriesPoint = Item<'/series'>;
export type SeriesGroup = SeriesReply['groups'][number];

/** Below this number of scores, a mean says little: its point is hollow. */
export const FEW_SCORES = 30;

/** Lines of one chart; the table has all groups. */
const MAX_LINES = 6;

/** Line of a chart: one value for each time of the chart; null without scores. */
interface ChartLine {
  readonly name: string;
  readonly means: readonly (number | null)[];
  readonly counts: readonly number[];
}

/** Data of a chart of scores over time. */
export interface SeriesChart {
  /** Starts of buckets, Unix seconds. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly band: { readonly low: number; readonly mean: number; readonly high: number } | null;
  /** Versions, Unix seconds. */
  readonly markers: readonly { readonly at: number; readonly text: string }[];
  /** Incidents, Unix seconds; `to` is null for an open one. */
  readonly incidents: readonly { readonly from: number; readonly to: number | null; readonly text: string }[];
  readonly range: { readonly low: number; readonly high: number } | null;
}

/** Builds the chart of a series: one line for each group, the largest first. */
export function buildSeriesChart(reply: SeriesReply, by: readonly string[]): SeriesChart {
  const { items, groups, baseline, markers, incidents } = reply;
  const buckets = listBuckets(reply);
  const byGroup = Map.groupBy(items, (point) => nameGroup(point, by));
  const first = groups[0];
  return {
    times: buckets.map(seconds),
    lines: groups.slice(0, MAX_LINES).map((group) => {
      const name = nameGroup(group, by);
      const points = new Map((byGroup.get(name) ?? []).map((point) => [point.bucket, point]));
      return {
        name,
        means: buckets.map((bucket) => points.get(bucket)?.mean ?? null),
        counts: buckets.map((bucket) => points.get(bucket)?.n ?? 0),
      };
    }),
    band:
      baseline === null
        ? null
        : { low: baseline.p10 ?? baseline.mean, mean: baseline.mean, high: baseline.p90 ?? baseline.mean },
    markers: markers.flatMap(({ at, service, version, agentVersion }) =>
      at === null ? [] : [{ at: seconds(at), text: `${service} ${version === '' ? agentVersion : version}` }],
    ),
    incidents: incidents.flatMap(({ alert, startsAt, endsAt }) =>
      startsAt === null
        ? []
        : [{ from: seconds(startsAt), to: endsAt === null ? null : seconds(endsAt), text: alert }],
    ),
    range:
      first === undefined || first.scoreMin === null || first.scoreMax === null
        ? null
        : { low: first.scoreMin, high: first.scoreMax },
  };
}

/** Lists the starts of all buckets of the range: a bucket without scores is a gap, and the axis is that of the range. */
function listBuckets({ items, since, until, bucket }: SeriesReply): string[] {
  const lengthMs = Number.parseInt(bucket, 10) * (bucket.endsWith('d') ? 86_400_000 : 3_600_000);
  const [fromMs, toMs] = [Date.parse(since), Date.parse(until)];
  const count = Math.ceil((toMs - fromMs) / lengthMs);
  const starts = Array.from({ length: count }, (_, index) =>
    new Date(fromMs + index * lengthMs).toISOString(),
  );
  return [...new Set([...starts, ...items.map((point) => point.bucket)])].toSorted();
}

/** Writes the times of an axis in UTC: the day where it changes, else the hour. */
export function formatTicks(times: readonly number[]): string[] {
  return times.map((at, index) => {
    const [day = '', time = ''] = new Date(at * 1_000).toISOString().split('T');
    const before = times[index - 1];
    const isNewDay = before === undefined || !new Date(before * 1_000).toISOString().startsWith(day);
    return isNewDay ? day.slice(5) : time.slice(0, 5);
  });
}

/** Names a group by its facets: `agent weather, model gpt-5`; all scores without facets. */
export function nameGroup(group: SeriesPoint | SeriesGroup, by: readonly string[]): string {
  const values = group as Readonly<Record<string, unknown>>;
  const parts = by.map((facet) => {
    const value = values[facet];
    return typeof value === 'string' && value !== '' ? value : `no ${facet}`;
  });
  return parts.length === 0 ? 'all scores' : parts.join(', ');
}

/** Writes what a series shows, in words. */
export function describeSeries({ groups, baseline, items, incidents }: SeriesReply): string {
  const n = groups.reduce((sum, group) => sum + group.n, 0);
  const [only] = groups;
  if (only === undefined || n === 0) {
    return 'There are no scores in this time.';
  }
  const last = items.at(-1);
  const open = incidents.filter(({ endsAt }) => endsAt === null).length;
  return [
    groups.length === 1
      ? `The mean is ${formatScore(only.mean)} (n = ${formatNumber(n)}; ${formatDirection(only.higherIsBetter)}).`
      : `${groups.length} groups have ${formatNumber(n)} scores (${formatDirection(only.higherIsBetter)}).`,
    ...(groups.length === 1 && last !== undefined
      ? [
          `The latest bucket, from ${formatTime(last.bucket)} UTC, has ${formatScore(last.mean)} (n = ${formatNumber(last.n)}).`,
        ]
      : []),
    baseline === null
      ? 'There is no baseline yet.'
      : `The baseline is ${formatScore(baseline.mean)} (p10 ${formatScore(baseline.p10)} to p90 ${formatScore(baseline.p90)}, n = ${formatNumber(baseline.n)}).`,
    ...(open === 0 ? [] : [`${open === 1 ? 'One incident is' : `${open} incidents are`} open.`]),
  ].join(' ');
}

function seconds(iso: string): number {
  return Date.parse(iso) / 1_000;
}
