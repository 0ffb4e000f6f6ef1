import { adjustQuery, framed, push, query } from '../router.ts';
import { BASE_PATH } from '../base-path.ts';
import {
  bucketMs,
  buildSeriesLines,
  chooseMeasure,
  describeSeries,
  formatMeasure,
  listMarks,
  listSeriesRows,
  listSpans,
  MEASURES,
  type Measure,
  type SeriesReply,
  type SeriesRow,
} from '../view-models/charts/series-chart.ts';
import { formatNumber, formatPercent, formatScore } from '../view-models/format.ts';
import { Choice } from './choice.tsx';
import { Figure, type FigureProps } from './share.tsx';
import { Table, type Column } from './table.tsx';
import { Text, Time } from './text.tsx';
import { TimeChart } from './time-chart.tsx';

const HEIGHT = 260;

const COLUMNS: readonly Column<SeriesRow>[] = [
  { name: 'Bucket', cell: ({ bucket }) => <Time at={bucket} /> },
  { name: 'Of', cell: ({ group }) => <Text of={group} /> },
  { name: 'n', cell: ({ point }) => formatNumber(point?.n ?? 0), isNumber: true },
  { name: 'Mean', cell: ({ point }) => formatScore(point?.mean), isNumber: true },
  { name: 'p10', cell: ({ point }) => formatScore(point?.p10), isNumber: true },
  { name: 'p50', cell: ({ point }) => formatScore(point?.p50), isNumber: true },
  { name: 'p90', cell: ({ point }) => formatScore(point?.p90), isNumber: true },
  { name: 'Pass rate', cell: ({ point }) => formatPercent(point?.passRate), isNumber: true },
];

interface SeriesFigureProps {
  readonly title: string;
  readonly data: SeriesReply;
  /** Facets of the groups. */
  readonly by: readonly string[];
  /** Takes a range that the reader has dragged. */
  readonly onRange?: (from: number, to: number) => void;
}

/** Scores over time: a drag chooses the range of the page, a click leads to the traces of a bucket. */
export function SeriesFigure({ title, data, by, onRange }: SeriesFigureProps) {
  const measure = chooseMeasure(query.value.get('measure'), data);
  const isWhole = query.value.get('y') === 'whole';
  const rows = listSeriesRows(data, by);
  const [scale] = data.groups;
  const whole = measure === 'mean' ? [scale?.scoreMin, scale?.scoreMax] : [0, 1];
  const scorer = scale?.scorer ?? '';
  const pick = (at: number): void => {
    const start = rows.findLast(({ bucket }) => Date.parse(bucket) <= at)?.bucket;
    if (start !== undefined) {
      const until = new Date(Date.parse(start) + bucketMs(data)).toISOString();
      push(BASE_PATH + framed('/traces', { scorer, order: 'worst', since: start, until }));
    }
  };
  return (
    <Figure
      title={title}
      conclusion={describeSeries(data)}
      controls={<Controls data={data} measure={measure} isWhole={isWhole} />}
      drawing={
        <TimeChart
          label={`${title}, ${measure}: ${describeSeries(data)}`}
          lines={buildSeriesLines(data, by, measure)}
          from={Date.parse(data.since)}
          to={Date.parse(data.until)}
          height={HEIGHT}
          format={(value) => formatMeasure(measure, value)}
          {...(isWhole && typeof whole[0] === 'number' && typeof whole[1] === 'number'
            ? { bottom: whole[0], top: whole[1] }
            : {})}
          {...(measure === 'mean' && data.baseline !== null ? { baseline: data.baseline.mean } : {})}
          marks={listMarks(data)}
          spans={listSpans(data)}
          {...(onRange === undefined ? {} : { onRange })}
          onPick={pick}
        />
      }
      {...seriesNumbers(data, rows)}
    />
  );
}

/** Numbers of a series as a table and as a file. */
export function seriesNumbers(
  { bucket: length, groups }: SeriesReply,
  rows: readonly SeriesRow[],
): Pick<FigureProps, 'table' | 'csv'> {
  return {
    table: (
      <Table
        caption={`Scores in buckets of ${length}`}
        columns={COLUMNS}
        rows={rows}
        keyOf={({ bucket, group }) => `${bucket} ${group}`}
      />
    ),
    csv: {
      file: `${groups[0]?.scorer ?? ''}.csv`,
      columns: ['bucket', 'of', 'n', 'mean', 'p10', 'p50', 'p90', 'passRate'],
      rows: rows.map(({ bucket, group, point }) => [
        bucket,
        group,
        point?.n ?? 0,
        ...[point?.mean, point?.p10, point?.p50, point?.p90, point?.passRate].map((value) => value ?? null),
      ]),
    },
  };
}

interface ControlsProps {
  readonly data: SeriesReply;
  readonly measure: Measure;
  readonly isWhole: boolean;
}

function Controls({ data, measure, isWhole }: ControlsProps) {
  const hasPass = chooseMeasure('pass rate', data) === 'pass rate';
  return (
    <>
      {hasPass && (
        <Choice
          label="Show"
          value={measure}
          choices={MEASURES}
          onChoice={(each) => adjustQuery({ measure: each })}
        />
      )}
      <label>
        <input
          type="checkbox"
          checked={isWhole}
          onChange={({ currentTarget }) => adjustQuery({ y: currentTarget.checked ? 'whole' : undefined })}
        />{' '}
        Whole range
      </label>
    </>
  );
}
