import type { Replies } from '../api-types.ts';
import { read } from '../client.ts';
import { useResource } from '../resource.ts';
import { adjustQuery, frame } from '../router.ts';
import { formatPercent } from '../view-models/format.ts';
import type { TimeLine } from '../view-models/charts/time-axis.ts';
import { nameGroup } from '../view-models/charts/series-chart.ts';
import { wilson } from '../view-models/rates.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { Loaded } from './loaded.tsx';
import { TimeChart } from './time-chart.tsx';

/** Range of the chart: the 14 days that a range is compared with, and the last day. */
const CHART_RANGE = '15d';

/** Most agents of the chart. */
const MAX_LINES = 6;

interface RateByAgentProps {
  readonly scorer: string;
  /** Agent that the page is about. */
  readonly subject: string | undefined;
}

/** Pass rate of a scorer by agent over the last days, with versions and incidents. */
export function RateByAgent({ scorer, subject }: RateByAgentProps) {
  const { environment } = frame.value;
  const series = useResource(`by agent ${scorer} ${String(environment)}`, (signal) =>
    read('/series', {
      query: { scorer, by: 'agent', since: CHART_RANGE, bucket: '1d', environment },
      signal,
    }),
  );
  return (
    <figure class="card" aria-label={visibleText(`${scorer} by agent`)}>
      <figcaption>
        <h2>
          {visibleText(scorer)} by agent{' '}
          <span class="quiet">· answers that pass, by day · drag to choose a range</span>
        </h2>
      </figcaption>
      <Loaded
        of={series}
        what="the chart"
        isEmpty={({ groups }) => groups.length === 0}
        empty={<p>No scores of this scorer yet.</p>}
      >
        {(data) => <Drawing data={data} subject={subject} />}
      </Loaded>
    </figure>
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
  const lines = buildLines(data, subject);
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
      marks={data.markers.flatMap(({ at, agent, service, version, agentVersion }) =>
        at === null ? [] : [{ at: Date.parse(at), text: `${agent || service} ${agentVersion || version}` }],
      )}
      spans={data.incidents.flatMap(({ startsAt, endsAt }) =>
        startsAt === null
          ? []
          : [{ from: Date.parse(startsAt), to: endsAt === null ? null : Date.parse(endsAt) }],
      )}
      onRange={(since, until) =>
        adjustQuery({ since: new Date(since).toISOString(), until: new Date(until).toISOString() })
      }
    />
  );
}

function buildLines(
  { items, groups, since, until }: Replies['/series'],
  subject: string | undefined,
): TimeLine[] {
  const day = 86_400_000;
  const starts: number[] = [];
  for (let at = Date.parse(since); at < Date.parse(until); at += day) {
    starts.push(at);
  }
  return groups.slice(0, MAX_LINES).map((group) => {
    const name = nameGroup(group, ['agent']);
    const points = new Map(
      items
        .filter((point) => nameGroup(point, ['agent']) === name)
        .map((point) => [Date.parse(point.bucket), point]),
    );
    return {
      name,
      isSubject: subject === undefined ? groups.length === 1 : name === subject,
      points: starts.map((at) => {
        const point = points.get(at);
        if (point === undefined || point.passRate === null) {
          return { at, value: null };
        }
        const { low, high } = wilson(point.passRate, Math.max(point.effectiveN, 1));
        return { at, value: point.passRate, low, high, n: point.n };
      }),
    };
  });
}
