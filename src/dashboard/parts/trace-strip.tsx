import type { Facets } from '../api-types.ts';
import { read } from '../client.ts';
import { useRead, useResource } from '../resource.ts';
import { adjustQuery } from '../router.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { listStarts, type TimePoint } from '../view-models/charts/time-axis.ts';
import { formatNumber, formatPercent } from '../view-models/format.ts';
import { listQualities } from './quality.tsx';
import { Text } from './text.tsx';
import { TimeChart } from './time-chart.tsx';

const HEIGHT = 56;

/** Filters of traces that scores have, too. */
const SCORE_FILTERS = [
  'since',
  'until',
  'agent',
  'agentVersion',
  'environment',
  'model',
  'service',
  'serviceVersion',
];

interface TraceStripProps {
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly facets: Facets | undefined;
}

/** Three small charts of the listed traces: a drag in one sets the range of the page. */
export function TraceStrip({ filters, facets }: TraceStripProps) {
  const { since, until, agent, environment } = filters;
  const agents = useRead('/agents', { query: { since, until, agent, environment } });
  const declared = agents.kind === 'ready' ? listQualities(agents.data.items)[0] : undefined;
  const scorer = filters['scorer']?.[0] ?? declared;
  const chosen = Object.fromEntries(Object.entries(filters).filter(([name]) => SCORE_FILTERS.includes(name)));
  const series = useResource(`strip ${scorer ?? ''} ${JSON.stringify(chosen)}`, async (signal) =>
    scorer === undefined ? undefined : read('/series', { query: { ...chosen, scorer }, signal }),
  );
  const rates = series.kind === 'ready' ? series.data : undefined;
  const range = readRange(facets, rates);
  const counts = (of: 'runs' | 'errors') => fillGaps(facets, range, of);
  return (
    <div class="strip">
      <Small name="Runs" note="" points={counts('runs')} range={range} format={formatNumber} />
      <Small
        name="Pass rate"
        note={scorer ?? ''}
        points={(rates?.items ?? []).map(({ bucket, passRate, n }) => ({
          at: Date.parse(bucket),
          value: passRate,
          n,
        }))}
        range={range}
        format={(value) => formatPercent(value)}
        top={1}
      />
      <Small
        name="Errors"
        note="runs with a failed tool"
        points={counts('errors')}
        range={range}
        format={formatNumber}
      />
    </div>
  );
}

interface Range {
  readonly from: number;
  readonly to: number;
  /** Length of a bucket. */
  readonly step: number;
}

function readRange(
  facets: Facets | undefined,
  rates: { readonly since: string; readonly until: string } | undefined,
): Range {
  const times = (facets?.buckets ?? []).flatMap(({ at }) => (at === null ? [] : [Date.parse(at)]));
  const from = rates === undefined ? Math.min(...times, Date.now() - DAY_MS) : Date.parse(rates.since);
  const to = rates === undefined ? Date.now() : Date.parse(rates.until);
  return { from, to, step: to - from <= 3 * DAY_MS + DAY_MS / 12 ? DAY_MS / 24 : DAY_MS };
}

/** Lists the counts of all buckets of a range: one without traces has 0. */
function fillGaps(facets: Facets | undefined, { from, to, step }: Range, of: 'runs' | 'errors'): TimePoint[] {
  const counts = new Map(facets?.buckets.map((each) => [Date.parse(each.at ?? ''), each[of]]));
  const first = Math.floor(from / step) * step;
  return listStarts(first, to, step).map((at) => ({ at, value: counts.get(at) ?? 0 }));
}

interface SmallProps {
  readonly name: string;
  readonly note: string;
  readonly points: readonly TimePoint[];
  readonly range: Range;
  readonly format: (value: number) => string;
  readonly top?: number;
}

function Small({ name, note, points, range, format, top }: SmallProps) {
  return (
    <figure class="card" aria-label={name}>
      <figcaption>
        {name}{' '}
        <span class="quiet small">
          <Text of={note} />
        </span>
      </figcaption>
      <TimeChart
        label={describe(points, format)}
        lines={[{ name, points }]}
        from={range.from}
        to={range.to}
        height={HEIGHT}
        format={format}
        bottom={0}
        {...(top === undefined ? {} : { top })}
        onRange={(since, until) =>
          adjustQuery({
            since: new Date(since).toISOString(),
            until: new Date(until).toISOString(),
            cursor: undefined,
          })
        }
      />
    </figure>
  );
}

function describe(points: readonly TimePoint[], format: (value: number) => string): string {
  const known = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const last = known.at(-1);
  return last === undefined
    ? 'no data in this time'
    : `from ${format(Math.min(...known))} to ${format(Math.max(...known))}, the last ${format(last)}`;
}
