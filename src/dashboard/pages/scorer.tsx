import type { Item } from '../api-types.ts';
import { read } from '../client.ts';
import { Chart } from '../parts/chart.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { RangeChoice } from '../parts/range-choice.tsx';
import { Score } from '../parts/score.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { adjustQuery, place, query } from '../router.ts';
import { describeSums } from '../view-models/overview-rows.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { formatNumber, formatPercent, formatScore } from '../view-models/format.ts';
import {
  buildBins,
  describeDistribution,
  type Bin,
  type Distribution,
} from '../view-models/charts/histogram.ts';
import {
  buildSeriesChart,
  describeSeries,
  nameGroup,
  type SeriesGroup,
  type SeriesPoint,
  type SeriesReply,
} from '../view-models/charts/series-chart.ts';
import { visibleText } from '../view-models/visible-text.ts';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

/** Facets by which the page of a scorer splits its scores. */
const SEGMENT_FACETS = [
  'agent',
  'service',
  'environment',
  'model',
  'serviceVersion',
  'agentVersion',
  'target',
  'fingerprint',
] as const;

const WIDTH = 400;

const HEIGHT = 140;

type ScoreRow = Item<'/scores'>;

const DEFAULT_RANGE = '7d';

/** Number of worst traces that the page lists. */
const WORST = 10;

/** One scorer: its scores over time, their distribution, its segments, its worst traces. */
export function Scorer() {
  const scorer = place.value?.params['scorer'] ?? '';
  const since = query.value.get('since') ?? DEFAULT_RANGE;
  const by = SEGMENT_FACETS.find((facet) => facet === query.value.get('by'));
  const key = `${scorer} ${since}`;
  const series = useResource(`series ${key} ${by ?? ''}`, (signal) =>
    read('/series', { query: { scorer, since, by }, signal }),
  );
  const distribution = useResource(`distribution ${key}`, (signal) =>
    read('/distribution', { query: { scorer, since }, signal }),
  );
  const worst = useResource(`worst ${key}`, (signal) =>
    read('/scores', { query: { scorer, since, order: 'score', limit: WORST }, signal }),
  );
  return (
    <Page
      title={visibleText(scorer)}
      lead="Scores of one scorer over time. A mean counts each score with its sampling weight."
    >
      <Choices since={since} by={by} />
      <Loaded
        of={series}
        what="the series"
        isEmpty={({ groups }) => groups.length === 0}
        empty={<p>No scores of this scorer in this time.</p>}
      >
        {(data) => <Series data={data} by={by === undefined ? [] : [by]} />}
      </Loaded>
      <Loaded
        of={distribution}
        what="the distribution"
        isEmpty={({ current }) => current.n === 0}
        empty={<p>No distribution: no scores.</p>}
      >
        {(data) => <ScoreDistribution data={data} />}
      </Loaded>
      <section aria-labelledby="worst">
        <h2 id="worst">Worst traces</h2>
        <Loaded
          of={worst}
          what="the worst traces"
          isEmpty={({ items }) => items.length === 0}
          empty={<p>No traces.</p>}
        >
          {({ items }) => (
            <Table
              caption="Worst traces"
              isCaptionHidden
              columns={WORST_COLUMNS}
              rows={items}
              keyOf={({ scoreId }) => scoreId}
            />
          )}
        </Loaded>
      </section>
    </Page>
  );
}

function Choices({ since, by }: { readonly since: string; readonly by: string | undefined }) {
  return (
    <p class="choices">
      <RangeChoice since={since} />{' '}
      <label>
        Segments by{' '}
        <select value={by ?? ''} onChange={({ currentTarget }) => adjustQuery({ by: currentTarget.value })}>
          <option value="">none</option>
          {SEGMENT_FACETS.map((facet) => (
            <option key={facet}>{facet}</option>
          ))}
        </select>
      </label>
    </p>
  );
}

const numbers = (row: SeriesPoint | SeriesGroup) => [row.mean, row.p10, row.p50, row.p90].map(formatScore);

const SUMMARY_COLUMNS: readonly Column<SeriesPoint | SeriesGroup>[] = [
  { name: 'n', cell: ({ n }) => formatNumber(n), isNumber: true },
  { name: 'Effective n', cell: ({ effectiveN }) => formatNumber(effectiveN), isNumber: true },
  ...['Mean', 'p10', 'p50', 'p90'].map((name, index) => ({
    name,
    cell: (row: SeriesPoint | SeriesGroup) => numbers(row)[index],
    isNumber: true,
  })),
  {
    name: 'Pass rate',
    cell: ({ passRate }) => (passRate === null ? '–' : formatPercent(passRate)),
    isNumber: true,
  },
];

function Series({ data, by }: { readonly data: SeriesReply; readonly by: readonly string[] }) {
  const group: Column<SeriesPoint | SeriesGroup> = {
    name: 'Segment',
    cell: (row) => <Text of={nameGroup(row, by)} />,
  };
  const bucket: Column<SeriesPoint> = { name: 'Bucket (UTC)', cell: (point) => <Time at={point.bucket} /> };
  return (
    <>
      <Figure
        title="Series"
        conclusion={describeSeries(data)}
        drawing={<Chart chart={buildSeriesChart(data, by)} />}
        table={
          <Table
            caption={`Scores in buckets of ${data.bucket}`}
            columns={[bucket, ...(by.length === 0 ? [] : [group]), ...SUMMARY_COLUMNS]}
            rows={data.items}
            keyOf={(point) => `${point.bucket} ${nameGroup(point, by)}`}
          />
        }
      />
      <section aria-labelledby="segments">
        <h2 id="segments">Segments</h2>
        <Table
          caption="Segments"
          isCaptionHidden
          columns={[
            group,
            ...SUMMARY_COLUMNS,
            {
              name: 'Baseline',
              cell: ({ baseline }: SeriesGroup) => formatScore(baseline?.mean),
              isNumber: true,
            },
          ]}
          rows={data.groups}
          keyOf={(row) => nameGroup(row, by)}
        />
        {data.truncatedGroups > 0 && (
          <p>{formatNumber(data.truncatedGroups)} smaller segments are left out.</p>
        )}
        <p class="note">{describeSums(data.sums)}</p>
      </section>
    </>
  );
}

const BIN_COLUMNS: readonly Column<Bin>[] = [
  { name: 'Scores', cell: ({ from, to }) => `${formatScore(from)} to ${formatScore(to)}` },
  { name: 'n', cell: ({ count }) => formatNumber(count), isNumber: true },
  { name: 'Share now', cell: ({ share }) => formatPercent(share), isNumber: true },
  {
    name: 'Share before',
    cell: ({ before }) => (before === null ? '–' : formatPercent(before)),
    isNumber: true,
  },
];

function ScoreDistribution({ data }: { readonly data: Distribution }) {
  const bins = buildBins(data);
  return (
    <Figure
      title="Distribution against the baseline"
      conclusion={describeDistribution(data)}
      drawing={<Histogram bins={bins} />}
      table={
        <Table caption="Distribution" columns={BIN_COLUMNS} rows={bins} keyOf={({ from }) => String(from)} />
      }
    />
  );
}

const WORST_COLUMNS: readonly Column<ScoreRow>[] = [
  {
    name: 'Trace',
    cell: ({ tenant, traceId, sessionId }) =>
      traceId === '' ? (
        <a href={sessionPath({ tenant, sessionId })} data-row-link>
          session <Text of={sessionId} />
        </a>
      ) : (
        <a href={tracePath({ tenant, traceId }, { tab: 'findings' })} data-row-link>
          <code>{traceId}</code>
        </a>
      ),
  },
  { name: 'Score', cell: (row) => <Score {...row} /> },
  { name: 'Agent', cell: ({ agent }) => <Text of={agent} /> },
  { name: 'Started (UTC)', cell: ({ traceTimestamp }) => <Time at={traceTimestamp} /> },
  { name: 'Reason', cell: ({ reason }) => <Text of={reason.slice(0, 300)} /> },
];

interface FigureProps {
  /** Subject of the figure. */
  readonly title: string;
  /** Conclusion from the figure, in words. */
  readonly conclusion: string;
  readonly drawing: ComponentChildren;
  /** The same numbers as a table. */
  readonly table: ComponentChildren;
}

/** A drawing with its conclusion in words, and the same numbers as a table. */
function Figure({ title, conclusion, drawing, table }: FigureProps) {
  const [isTable, setTable] = useState(false);
  const titleId = useId();
  return (
    <figure>
      <figcaption>
        <h2 id={titleId}>{title}</h2>
        <p>{conclusion}</p>
        <button
          type="button"
          aria-pressed={isTable}
          aria-describedby={titleId}
          onClick={() => setTable(!isTable)}
        >
          Show as table
        </button>
      </figcaption>
      {isTable ? table : drawing}
    </figure>
  );
}

/** Two histograms in one drawing: bars for now, a line for before. Its numbers are also in a table. */
function Histogram({ bins }: { readonly bins: readonly Bin[] }) {
  const top = Math.max(...bins.flatMap(({ share, before }) => [share, before ?? 0]), Number.MIN_VALUE);
  const width = WIDTH / Math.max(bins.length, 1);
  const y = (share: number) => HEIGHT - (share / top) * HEIGHT;
  const hasBefore = bins.some(({ before }) => before !== null);
  const steps = bins.map(
    ({ before }, index) => `${index === 0 ? 'M' : 'L'}${index * width} ${y(before ?? 0)}h${width}`,
  );
  const [first, last] = [bins[0], bins.at(-1)];
  return (
    <>
      <svg class="histogram" aria-hidden="true" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        {bins.map(({ from, share }, index) => (
          <rect
            key={from}
            x={index * width + 1}
            y={y(share)}
            width={Math.max(width - 2, 1)}
            height={HEIGHT - y(share)}
          />
        ))}
        {hasBefore && <path d={steps.join('')} />}
      </svg>
      <p class="histogram-axis" aria-hidden="true">
        <span>{first?.from}</span>
        <span>{last?.to}</span>
      </p>
      <p class="legend" aria-hidden="true">
        █ now{hasBefore && ' · ┅ before'}
      </p>
    </>
  );
}
