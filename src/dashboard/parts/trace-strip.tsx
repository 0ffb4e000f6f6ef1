import type { Facets } from '../api-types.ts';
import { adjustQuery } from '../router.ts';
import { formatNumber, formatPercent } from '../view-models/format.ts';
import { listTraceBuckets } from '../view-models/charts/trace-buckets.ts';
import { TimeChart, type TimePoint } from './time-chart.tsx';

const HEIGHT = 62;

/** Three small charts of the listed traces: a drag in one sets the range of the page. */
export function TraceStrip({ facets }: { readonly facets: Facets | undefined }) {
  const { from, to, buckets } = listTraceBuckets(facets);
  const chart = (name: string, points: readonly TimePoint[], format: (value: number) => string, top?: number) => (
    <figure class="card" aria-label={name}>
      <figcaption>{name}</figcaption>
      <TimeChart
        label={describe(points, format)}
        lines={[{ name, points }]}
        from={from}
        to={to}
        height={HEIGHT}
        format={format}
        bottom={0}
        {...(top === undefined ? {} : { top })}
        onRange={(since, until) =>
          adjustQuery({ since: new Date(since).toISOString(), until: new Date(until).toISOString(), cursor: undefined })
        }
      />
    </figure>
  );
  return (
    <div class="strip">
      {chart('Runs', buckets.map(({ at, runs }) => ({ at, value: runs })), formatNumber)}
      {chart(
        'Pass rate',
        buckets.map(({ at, scored, passing }) => ({ at, value: scored === 0 ? null : passing / scored, n: scored })),
        (value) => formatPercent(value),
        1,
      )}
      {chart('Errors', buckets.map(({ at, errors }) => ({ at, value: errors })), formatNumber)}
    </div>
  );
}

function describe(points: readonly TimePoint[], format: (value: number) => string): string {
  const known = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const last = known.at(-1);
  return last === undefined
    ? 'no data in this time'
    : `${known.length} points from ${format(Math.min(...known))} to ${format(Math.max(...known))}, the last ${format(last)}`;
}
