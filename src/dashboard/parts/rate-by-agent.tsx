import type { Replies } from '../api-types.ts';
import { useRead } from '../resource.ts';
import { adjustQuery, frame } from '../router.ts';
import { formatPercent } from '../view-models/format.ts';
import {
  buildSeriesLines,
  listMarks,
  listSeriesRows,
  listSpans,
} from '../view-models/charts/series-chart.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { Loaded } from './loaded.tsx';
import { seriesNumbers } from './series-figure.tsx';
import { Figure } from './share.tsx';
import { TimeChart } from './time-chart.tsx';

/** Range of the chart: the 14 days that a range is compared with, and the last day. */
const CHART_RANGE = '15d';

const BY = ['agent'] as const;

interface RateByAgentProps {
  readonly scorer: string;
  /** Agent that the page is about. */
  readonly subject: string | undefined;
}

/** Pass rate of a scorer by agent over the last days, with versions and incidents. */
export function RateByAgent({ scorer, subject }: RateByAgentProps) {
  const { environment } = frame.value;
  const series = useRead('/series', {
    query: { scorer, by: 'agent', since: CHART_RANGE, bucket: '1d', environment },
  });
  return (
    <Loaded
      of={series}
      what="the chart"
      lines={11}
      isEmpty={({ groups }) => groups.length === 0}
      empty={<p>No scores of {visibleText(scorer)} yet.</p>}
    >
      {(data) => (
        <Figure
          title={`${scorer} by agent`}
          conclusion="Answers that pass, by day. A drag chooses the time of the page."
          drawing={<Drawing data={data} subject={subject} />}
          {...seriesNumbers(data, listSeriesRows(data, BY))}
        />
      )}
    </Loaded>
  );
}

function Drawing({
  data,
  subject,
}: {
  readonly data: Replies['/series'];
  readonly subject: string | undefined;
}) {
  const [from, to] = [Date.parse(data.since), Date.parse(data.until)];
  const lines = buildSeriesLines(data, BY, 'pass rate').map((line, _, all) => ({
    ...line,
    isSubject: subject === undefined ? all.length === 1 : line.name === subject,
  }));
  const label = lines
    .map(({ name, points }) => {
      const last = points.findLast(({ value }) => value !== null);
      return `${name} ${last === undefined ? '–' : formatPercent(last.value ?? 0)}`;
    })
    .join(', ');
  return (
    <TimeChart
      label={`Latest: ${label}`}
      lines={lines}
      from={from}
      to={to}
      height={250}
      top={1}
      bottom={0.9}
      format={(value) => formatPercent(value)}
      marks={listMarks(data)}
      spans={listSpans(data)}
      onRange={(since, until) =>
        adjustQuery({ since: new Date(since).toISOString(), until: new Date(until).toISOString() })
      }
    />
  );
}
