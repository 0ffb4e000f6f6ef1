import type { Item, Replies } from '../../api-types.ts';
import { DAY_MS, HOUR_MS } from '../../../domain/durations.ts';
import { listStarts, type TimeLine } from './time-axis.ts';
import { formatDirection, formatDuration, formatNumber, formatPercent, formatScore } from '../format.ts';
import { formatChecked, wilson } from '../rates.ts';

export type SeriesReply = Replies['/series'];
export type SeriesPoint = Item<'/series'>;
export type SeriesGroup = SeriesReply['groups'][number];

/** Lines of one chart; the table has all groups. */
const MAX_LINES = 6;

/** Measures of a series that a chart shows. */
export const MEASURES = ['pass rate', 'mean'] as const;
export type Measure = (typeof MEASURES)[number];

/** Chooses the measure: the asked one, else the pass rate where the scores have one. */
export function chooseMeasure(asked: string | null, { groups }: SeriesReply): Measure {
  const known = groups.some(({ passRate }) => passRate !== null) ? MEASURES : (['mean'] as const);
  return known.find((each) => each === asked) ?? known[0];
}

/** Writes a value of a measure. */
export function formatMeasure(measure: Measure, value: number | null): string {
  return measure === 'mean' || value === null ? formatScore(value) : formatPercent(value);
}

/** Row of the table behind a chart: a bucket of a group; without scores, its numbers are null. */
export interface SeriesRow {
  readonly bucket: string;
  readonly group: string;
  readonly point: SeriesPoint | undefined;
}

/** Lists every bucket of the range for every group, the empty ones too. */
export function listSeriesRows(reply: SeriesReply, by: readonly string[]): SeriesRow[] {
  const points = new Map(
    reply.items.map((point) => [JSON.stringify([point.bucket, nameGroup(point, by)]), point]),
  );
  const groups = reply.groups.map((group) => nameGroup(group, by));
  return listBuckets(reply).flatMap((bucket) =>
    groups.map((group) => ({ bucket, group, point: points.get(JSON.stringify([bucket, group])) })),
  );
}

/** Builds one line for each group, the largest first; a bucket without scores is a gap. The first has its interval. */
export function buildSeriesLines(reply: SeriesReply, by: readonly string[], measure: Measure): TimeLine[] {
  const rows = Map.groupBy(listSeriesRows(reply, by), ({ group }) => group);
  return reply.groups.slice(0, MAX_LINES).map((group, index) => {
    const name = nameGroup(group, by);
    return {
      name,
      isSubject: index === 0,
      points: (rows.get(name) ?? []).map(({ bucket, point }) => ({
        at: Date.parse(bucket),
        ...readValue(point, measure),
      })),
    };
  });
}

function readValue(point: SeriesPoint | undefined, measure: Measure) {
  if (point === undefined) {
    return { value: null };
  }
  const { mean, passRate, effectiveN, n } = point;
  if (measure === 'mean' || passRate === null || effectiveN === 0) {
    return { value: measure === 'mean' ? mean : passRate, n };
  }
  const { value, low, high } = wilson(passRate, effectiveN);
  return { value, low, high, n };
}

/** Length of a bucket, milliseconds. */
export function bucketMs({ bucket }: Pick<SeriesReply, 'bucket'>): number {
  return Number.parseInt(bucket, 10) * (bucket.endsWith('d') ? DAY_MS : HOUR_MS);
}

/** Lists the starts of all buckets of the range: the axis is that of the range, not that of the data. */
function listBuckets({ items, since, until, bucket }: SeriesReply): string[] {
  const starts = listStarts(Date.parse(since), Date.parse(until), bucketMs({ bucket }));
  const names = starts.map((start) => new Date(start).toISOString());
  return [...new Set([...names, ...items.map((point) => point.bucket)])].toSorted();
}

/** Characters of a version at its line in a chart. */
const MARK_CHARS = 24;

/** Versions of one bucket that are named; more are counted. */
const MOST_NAMED = 2;

/** Lists the versions that came in the range, those of one bucket together. */
export function listMarks(reply: SeriesReply): { readonly at: number; readonly text: string }[] {
  const length = bucketMs(reply);
  const named = reply.markers.flatMap(({ at, service, agent, version, agentVersion }) =>
    at === null
      ? []
      : [{ at: Date.parse(at), text: `${agent || service} ${agentVersion === '' ? version : agentVersion}` }],
  );
  const buckets = Map.groupBy(named, ({ at }) => Math.floor(at / length));
  return [...buckets.values()].flatMap((marks) => {
    const texts = [...new Set(marks.map(({ text }) => text.slice(0, MARK_CHARS)))];
    const at = marks[0]?.at ?? 0;
    return texts.length > MOST_NAMED
      ? [{ at, text: `${texts.length} versions` }]
      : texts.map((text) => ({ at, text }));
  });
}

/** Lists the times of incidents; `to` is null for an open one. */
export function listSpans({
  incidents,
}: SeriesReply): { readonly from: number; readonly to: number | null }[] {
  return incidents.flatMap(({ startsAt, endsAt }) =>
    startsAt === null
      ? []
      : [{ from: Date.parse(startsAt), to: endsAt === null ? null : Date.parse(endsAt) }],
  );
}

/** Names a group by its facets: `weather, gpt-5`; all scores without facets. */
export function nameGroup(group: SeriesPoint | SeriesGroup, by: readonly string[]): string {
  const values = group as Readonly<Record<string, unknown>>;
  const parts = by.map((facet) => {
    const value = values[facet];
    return typeof value === 'string' && value !== '' ? value : `no ${facet}`;
  });
  return parts.length === 0 ? 'all scores' : parts.join(', ');
}

/** Age of scores without sums that is told, seconds. */
const TOLD_SECONDS = 60;

/** Writes how far the sums are behind the scores; nothing for less than a minute. */
export function describeSums({ behindSeconds }: SeriesReply['sums']): string {
  return behindSeconds < TOLD_SECONDS
    ? ''
    : `Sums are ${formatDuration(behindSeconds * 1_000)} behind: newer scores are counted one by one.`;
}

/** Writes what a series shows, in words. */
export function describeSeries({ groups, baseline, incidents }: SeriesReply): string {
  const n = groups.reduce((sum, group) => sum + group.n, 0);
  const [only] = groups;
  if (only === undefined || n === 0) {
    return 'There are no scores in this time.';
  }
  const open = incidents.filter(({ endsAt }) => endsAt === null).length;
  const people = typeof only.estimate?.estimate === 'number' ? 'by people ' : '';
  const pass =
    only.passRate === null
      ? ''
      : `, ${formatPercent(only.passRate)} pass, ${people}${formatChecked(only.estimate)}`;
  return [
    groups.length === 1
      ? `The mean is ${formatScore(only.mean)}${pass} (n = ${formatNumber(n)}; ${formatDirection(only.higherIsBetter)}).`
      : `${groups.length} groups have ${formatNumber(n)} scores (${formatDirection(only.higherIsBetter)}).`,
    baseline === null
      ? 'There is no baseline yet.'
      : `The baseline is ${formatScore(baseline.mean)} (n = ${formatNumber(baseline.n)}).`,
    ...(open === 0 ? [] : [`${open === 1 ? 'One incident is' : `${open} incidents are`} open.`]),
  ].join(' ');
}
