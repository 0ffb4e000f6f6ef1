import { read } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { adjustQuery, query } from '../router.ts';
import type { Replies } from '../api-types.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatDirection } from '../view-models/format.ts';
import { describeSums, overviewRow, type OverviewLine } from '../view-models/overview-rows.ts';
import { buildSparkline, SPARK_HEIGHT, SPARK_WIDTH } from '../view-models/charts/sparkline.ts';

type OverviewReply = Replies['/overview'];

const COLUMNS: readonly Column<OverviewLine>[] = [
  {
    name: 'Scorer',
    cell: ({ scorer, higherIsBetter }) => (
      <>
        <a href={fillPath('/scores/:scorer', { scorer })} data-row-link>
          <Text of={scorer} />
        </a>
        <br />
        <small>{formatDirection(higherIsBetter)}</small>
      </>
    ),
  },
  {
    name: 'Trend',
    cell: (line) => <Sparkline path={buildSparkline(line.series, line)} label={overviewRow(line).trend} />,
  },
  { name: 'Mean now', cell: (line) => overviewRow(line).mean, isNumber: true },
  { name: 'Baseline', cell: (line) => overviewRow(line).baseline, isNumber: true },
  { name: 'Change', cell: (line) => overviewRow(line).change },
  { name: 'Scored of eligible', cell: (line) => overviewRow(line).counts, isNumber: true },
  {
    name: 'Alert',
    cell: ({ incident }) =>
      incident === null ? (
        'no alert'
      ) : (
        <strong class="bad">
          ▲ firing: <Text of={incident.alert} />
          {incident.muted && ' · muted'}
        </strong>
      ),
  },
];

/** First page: one row for each scorer, and the open incidents. */
export function Overview() {
  const bucket = query.value.get('bucket') === '1d' ? '1d' : '1h';
  const overview = useResource(`overview ${bucket}`, (signal) =>
    read('/overview', { query: { bucket }, signal }),
  );
  return (
    <Page title="Overview">
      <p class="choices">
        <label>
          Range{' '}
          <select
            value={bucket}
            onChange={({ currentTarget }) => adjustQuery({ bucket: currentTarget.value })}
          >
            <option value="1h">24 hours</option>
            <option value="1d">24 days</option>
          </select>
        </label>{' '}
        <button type="button" onClick={overview.reload}>
          Refresh
        </button>
      </p>
      <Loaded
        of={overview}
        what="the scorers"
        isEmpty={({ items }) => items.length === 0}
        empty={<NoScores />}
      >
        {(data) => (
          <>
            <Incidents incidents={data.incidents} budgets={data.budgets} />
            <Table caption="Scorers" columns={COLUMNS} rows={data.items} keyOf={({ scorer }) => scorer} />
            <p class="note">
              Live scores from <Time at={data.since} /> to <Time at={data.until} /> (UTC). Baseline: scores
              before. A mean counts each score with its sampling weight. {describeSums(data.sums)}
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function NoScores() {
  return (
    <>
      <p>No scores in this time.</p>
      <p>
        <a href="/welcome">Connect an agent</a>, look at the <a href="/coverage">coverage</a>, or choose a
        longer range.
      </p>
    </>
  );
}

function Incidents({ incidents, budgets }: Pick<OverviewReply, 'incidents' | 'budgets'>) {
  return (
    <section aria-labelledby="incidents">
      <h2 id="incidents">Open incidents</h2>
      {incidents.length + budgets.length === 0 ? (
        <p>✓ No open incidents.</p>
      ) : (
        <ul>
          {incidents.map(({ incidentId, alert, scorer, agent, environment, startsAt, muted }) => (
            <li key={incidentId}>
              <strong class="bad">
                ▲ <Text of={alert} />
              </strong>
              :{' '}
              <a href={fillPath('/scores/:scorer', { scorer })}>
                <Text of={scorer} />
              </a>
              , <Text of={`${agent === '' ? 'all agents' : `agent ${agent}`}, ${environment}`} />, since{' '}
              <Time at={startsAt} /> (UTC){muted && ' · muted'}
            </li>
          ))}
          {budgets.map(({ incidentId, summary, startsAt, muted }) => (
            <li key={incidentId}>
              <strong class="bad">▲</strong>{' '}
              <a href="/judges">
                <Text of={summary} />
              </a>
              , since <Time at={startsAt} /> (UTC){muted && ' · muted'}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A small line, with its meaning in words. */
function Sparkline({ path, label }: { readonly path: string; readonly label: string }) {
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      width={SPARK_WIDTH}
      height={SPARK_HEIGHT}
    >
      <path d={path} />
    </svg>
  );
}
