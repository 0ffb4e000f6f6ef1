import { AGGREGATE_FACETS } from '../../domain/aggregate-facets.ts';
import type { Item } from '../api-types.ts';
import { BASE_PATH } from '../base-path.ts';
import { Checked } from '../parts/checked.tsx';
import { Choice } from '../parts/choice.tsx';
import { Histogram } from '../parts/histogram.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Score } from '../parts/score.tsx';
import { SeriesFigure } from '../parts/series-figure.tsx';
import { Figure } from '../parts/share.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, framed, place, push, query } from '../router.ts';
import type { Query } from '../view-models/paths/fill-path.ts';
import { scorerPath, sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { formatDirection, formatNumber, formatPercent, formatScore } from '../view-models/format.ts';
import {
  buildBins,
  describeDistribution,
  type Bin,
  type Distribution,
} from '../view-models/charts/histogram.ts';
import {
  describeSums,
  nameGroup,
  type SeriesGroup,
  type SeriesReply,
} from '../view-models/charts/series-chart.ts';
import { describePassLine, formatChecked } from '../view-models/rates.ts';
import { visibleText } from '../view-models/visible-text.ts';

/** Choice of no facet. */
const NO_FACET = 'none';

type ScoreRow = Item<'/scores'>;

/** Number of worst answers that the page lists. */
const WORST = 10;

/** One scorer: its scores over time, their distribution, its segments, its worst answers. */
export function Scorer() {
  const scorer = place.value?.params['scorer'] ?? '';
  const chosen = query.value.get('by') ?? 'agent';
  const by = AGGREGATE_FACETS.find((facet) => facet === chosen);
  const asked = { scorer, ...frame.value };
  const series = useRead('/series', { query: { ...asked, by } });
  const distribution = useRead('/distribution', { query: asked });
  return (
    <Page title={visibleText(scorer)} lead={<Measured scorer={scorer} />}>
      <Checked scorer={scorer} />
      <Choices by={by ?? NO_FACET} />
      <Loaded
        of={series}
        what="the series"
        isEmpty={({ groups }) => groups.length === 0}
        empty={<p>No scores of this scorer in this time.</p>}
      >
        {(data) => <Series data={data} by={by === undefined ? [] : [by]} />}
      </Loaded>
      <div class="split">
        <div>
          <Loaded
            of={distribution}
            what="the distribution"
            isEmpty={({ current }) => current.n === 0}
            empty={<p>No distribution: no scores.</p>}
          >
            {(data) => <ScoreDistribution data={data} />}
          </Loaded>
        </div>
        <WorstAnswers scorer={scorer} asked={asked} />
      </div>
    </Page>
  );
}

interface WorstAnswersProps {
  readonly scorer: string;
  readonly asked: Query;
}

/** Worst answers of the chosen time. */
function WorstAnswers({ scorer, asked }: WorstAnswersProps) {
  const worst = useRead('/scores', { query: { ...asked, order: 'score', limit: WORST } });
  return (
    <section class="card" aria-labelledby="worst">
      <h2 id="worst">Worst answers</h2>
      <Loaded of={worst} what="the worst answers" empty={<p>No answers.</p>}>
        {({ items }) => (
          <>
            <Table
              caption="Worst answers"
              isCaptionHidden
              columns={WORST_COLUMNS}
              rows={items}
              keyOf={({ scoreId }) => scoreId}
            />
            <a href={framed('/traces', { scorer, order: 'worst' })}>All, worst first</a>
          </>
        )}
      </Loaded>
    </section>
  );
}

/** One line on what the scorer measures. */
function Measured({ scorer }: { readonly scorer: string }) {
  const scorers = useRead('/scorers');
  const found =
    scorers.kind === 'ready'
      ? scorers.data.items.find((each) => each.scorer === scorer || each.rows.includes(scorer))
      : undefined;
  if (found === undefined) {
    return <>Scores over time. Each score counts with its sampling weight.</>;
  }
  const { measures, higherIsBetter, judge, rows, passLines } = found;
  const [line] = passLines;
  const passes = line === undefined || rows.length > 1 ? '' : describePassLine(line, found);
  return (
    <>
      {measures !== null && (
        <>
          Measures <Text of={measures} />.{' '}
        </>
      )}
      {formatDirection(higherIsBetter)}
      {judge !== null && (
        <>
          , judged by <Text of={judge} />
        </>
      )}
      {passes !== '' && `; ${passes}`}.
    </>
  );
}

function Choices({ by }: { readonly by: string }) {
  const isZoomed = query.value.has('until');
  return (
    <p class="choices">
      <Choice
        label="Lines by"
        value={by}
        choices={[NO_FACET, ...AGGREGATE_FACETS]}
        onChoice={(facet) => adjustQuery({ by: facet })}
      />
      {isZoomed && (
        <button type="button" onClick={() => adjustQuery({ since: undefined, until: undefined })}>
          Zoom out
        </button>
      )}
    </p>
  );
}

const SEGMENT_COLUMNS: readonly Column<SeriesGroup>[] = [
  { name: 'n', cell: ({ n }) => formatNumber(n), isNumber: true },
  { name: 'Effective n', cell: ({ effectiveN }) => formatNumber(effectiveN), isNumber: true },
  { name: 'Pass rate', cell: ({ passRate }) => formatPercent(passRate), isNumber: true },
  { name: 'By people', cell: ({ estimate }) => formatChecked(estimate), isNumber: true },
  { name: 'Mean', cell: ({ mean }) => formatScore(mean), isNumber: true },
  { name: 'Baseline', cell: ({ baseline }) => formatScore(baseline?.mean), isNumber: true },
  { name: 'p10', cell: ({ p10 }) => formatScore(p10), isNumber: true },
  { name: 'p50', cell: ({ p50 }) => formatScore(p50), isNumber: true },
  { name: 'p90', cell: ({ p90 }) => formatScore(p90), isNumber: true },
];

function Series({ data, by }: { readonly data: SeriesReply; readonly by: readonly string[] }) {
  const zoom = (from: number, to: number): void =>
    push(
      BASE_PATH +
        framed(scorerPath(data.groups[0]?.scorer ?? ''), {
          by: query.value.get('by') ?? undefined,
          measure: query.value.get('measure') ?? undefined,
          since: new Date(from).toISOString(),
          until: new Date(to).toISOString(),
        }),
    );
  return (
    <>
      <SeriesFigure title="Series" data={data} by={by} onRange={zoom} />
      <p class="note">
        A drag in the chart chooses the time of the whole page, a click leads to the traces.{' '}
        {describeSums(data.sums)}
      </p>
      {by.length > 0 && (
        <Table
          caption="Segments"
          columns={[{ name: 'Segment', cell: (row) => <Text of={nameGroup(row, by)} /> }, ...SEGMENT_COLUMNS]}
          rows={data.groups}
          keyOf={(row) => nameGroup(row, by)}
        />
      )}
      {data.truncatedGroups > 0 && <p>{formatNumber(data.truncatedGroups)} smaller segments are left out.</p>}
    </>
  );
}

const BIN_COLUMNS: readonly Column<Bin>[] = [
  { name: 'Scores', cell: ({ from, to }) => `${formatScore(from)} to ${formatScore(to)}` },
  { name: 'n', cell: ({ count }) => formatNumber(count), isNumber: true },
  { name: 'Share now', cell: ({ share }) => formatPercent(share), isNumber: true },
  { name: 'Share before', cell: ({ before }) => formatPercent(before), isNumber: true },
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
      csv={{
        file: `${data.scorer}-distribution.csv`,
        columns: ['from', 'to', 'n', 'share', 'before'],
        rows: bins.map(({ from, to, count, share, before }) => [from, to, count, share, before]),
      }}
    />
  );
}

const WORST_COLUMNS: readonly Column<ScoreRow>[] = [
  {
    name: 'Started',
    cell: ({ tenant, traceId, sessionId, traceTimestamp }) =>
      traceId === '' ? (
        <TextLink to={sessionPath({ tenant, sessionId })} of={`session ${sessionId}`} isRow />
      ) : (
        <a href={tracePath({ tenant, traceId }, { tab: 'findings' })} data-row-link>
          <Time at={traceTimestamp} />
        </a>
      ),
  },
  { name: 'Score', cell: (row) => <Score {...row} /> },
  { name: 'Agent', cell: ({ agent }) => <Text of={agent} /> },
  { name: 'Reason', cell: ({ reason }) => <Text of={reason.slice(0, 160)} /> },
];
