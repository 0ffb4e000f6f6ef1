import { useState } from 'preact/hooks';
import type { Item } from '../api-types.ts';
import { ProblemError, read, write } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatNumber, formatScore } from '../view-models/format.ts';
import {
  buildIncidentBar,
  describeSeriesFacets,
  joinIncidents,
  type Incident,
} from '../view-models/incidents.ts';
import { visibleText } from '../view-models/visible-text.ts';

type Monitor = Item<'/monitors'>;
type Mute = Item<'/mutes'>;

/** Events of alerts that the page reads: several hundred incidents. */
const EVENTS = 500;

const DAYS_SHOWN = 30;
const DAY_MS = 86_400_000;

/** Incidents, the monitors and their states, and what is muted. */
export function Alerts() {
  const cursor = query.value.get('cursor') ?? undefined;
  const alerts = useResource(`alerts ${cursor ?? ''}`, (signal) =>
    read('/alerts', { query: { limit: EVENTS, cursor }, signal }),
  );
  const mutes = useResource('mutes', (signal) => read('/mutes', { query: { limit: EVENTS }, signal }));
  const [outcome, setOutcome] = useState('');
  const [openedAtMs] = useState(() => Date.now());
  const act = async (action: () => Promise<unknown>, done: string): Promise<void> => {
    try {
      await action();
      setOutcome(done);
      alerts.reload();
      mutes.reload();
    } catch (error) {
      setOutcome(error instanceof ProblemError ? `Not done: ${error.problem.detail}` : String(error));
    }
  };
  return (
    <Page title="Alerts">
      <p role="status">
        <Text of={outcome} />
      </p>
      <Loaded
        of={alerts}
        what="the alerts"
        isEmpty={({ items }) => items.length === 0}
        empty={<p>✓ There has been no alert.</p>}
      >
        {({ items, next }) => (
          <>
            <Table
              caption={`Incidents, bars of the last ${DAYS_SHOWN} days`}
              columns={incidentColumns(act, openedAtMs)}
              rows={joinIncidents(items)}
              keyOf={({ event }) => event.incidentId}
            />
            {next !== null && <a href={fillPath('/alerts', {}, { cursor: next })}>Older incidents</a>}
          </>
        )}
      </Loaded>
      <Loaded
        of={mutes}
        what="the mutes"
        isEmpty={({ items }) => items.length === 0}
        empty={<p>Nothing is muted.</p>}
      >
        {({ items }) => (
          <Table
            caption="Mutes"
            columns={muteColumns(act)}
            rows={items}
            keyOf={({ tenant, subject }) => JSON.stringify([tenant, subject])}
          />
        )}
      </Loaded>
      <Monitors />
    </Page>
  );
}

function Monitors() {
  const monitors = useResource('monitors', (signal) =>
    read('/monitors', { query: { limit: EVENTS, order: 'firing' }, signal }),
  );
  return (
    <Loaded
      of={monitors}
      what="the monitors"
      isEmpty={({ items }) => items.length === 0}
      empty={
        <p>
          No monitors are configured, or none has seen a score. The key <code>monitors</code> of the
          configuration names their files.
        </p>
      }
    >
      {({ items }) => (
        <Table
          caption="Monitors"
          columns={MONITOR_COLUMNS}
          rows={items}
          keyOf={({ ruleKey, series }) => `${ruleKey} ${JSON.stringify(series)}`}
        />
      )}
    </Loaded>
  );
}

type Act = (action: () => Promise<unknown>, done: string) => Promise<void>;

function incidentColumns(act: Act, toMs: number): Column<Incident>[] {
  return [
    {
      name: 'Alert',
      cell: ({ event, isOpen }) => (
        <>
          <Text of={event.alert} />{' '}
          {isOpen ? <strong class="bad">▲ firing</strong> : <span class="good">✓ resolved</span>}
          {event.muted && ' · muted'}
          {event.acknowledgedAt !== null && ' · accepted as normal'}
        </>
      ),
    },
    {
      name: 'Series',
      cell: ({ event: { series } }) => (
        <>
          <a href={fillPath('/scores/:scorer', { scorer: series.scorer })} data-row-link>
            <Text of={series.scorer} />
          </a>
          <br />
          <small>
            <Text of={describeSeriesFacets(series)} />
          </small>
        </>
      ),
    },
    {
      name: 'Time',
      cell: (incident) => <IncidentTime incident={incident} toMs={toMs} />,
    },
    { name: 'Began (UTC)', cell: ({ event }) => <Time at={event.startsAt} /> },
    { name: 'Ended (UTC)', cell: ({ event, isOpen }) => (isOpen ? 'open' : <Time at={event.endsAt} />) },
    {
      name: 'Before → after',
      cell: ({ event: { before, limit, after, count, lateScores } }) =>
        `${limit === null ? `${formatScore(before)} → ` : ''}${formatScore(after)}${limit === null ? '' : `, limit ${formatScore(limit)}`} (n = ${formatNumber(count)}${formatLate(lateScores)})`,
    },
    {
      name: 'Worst traces',
      cell: ({ event }) =>
        event.worstTraces.slice(0, 3).map(({ traceId }) => (
          <div key={traceId}>
            <a href={fillPath('/traces/:traceId', { traceId }, { tab: 'findings' })}>
              <code>{traceId.slice(0, 8)}</code>
            </a>
          </div>
        )),
    },
    { name: 'Actions', cell: (incident) => <Actions incident={incident} act={act} /> },
  ];
}

function IncidentTime({ incident, toMs }: { readonly incident: Incident; readonly toMs: number }) {
  const { from, width } = buildIncidentBar(incident, { fromMs: toMs - DAYS_SHOWN * DAY_MS, toMs });
  return (
    <svg class="bar incident" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect x={100 * from} width={Math.max(100 * width, 0.5)} height="8" />
    </svg>
  );
}

/** Subject of a mute of everything, and tenant of one of all tenants. */
const ALL = '*';

const MUTE_TIMES = ['1h', '24h', '7d'] as const;

function Actions({ incident: { event, isOpen }, act }: { readonly incident: Incident; readonly act: Act }) {
  const { incidentId: id, alert } = event;
  if (!isOpen) {
    return <>–</>;
  }
  const accept = () =>
    act(
      () => write('POST /alerts/{id}/ack', undefined, { params: { id } }),
      `The change of ${alert} is accepted as normal.`,
    );
  const mute = (time: string) =>
    act(() => write('POST /mutes', { subject: id, for: time }), `${alert} is muted for ${time}.`);
  return (
    <>
      <button type="button" onClick={() => void accept()}>
        Accept as normal<span class="unseen">: {visibleText(alert)}</span>
      </button>{' '}
      {MUTE_TIMES.map((time) => (
        <button key={time} type="button" onClick={() => void mute(time)}>
          Mute {time}
          <span class="unseen">: {visibleText(alert)}</span>
        </button>
      ))}
    </>
  );
}

function muteColumns(act: Act): Column<Mute>[] {
  return [
    { name: 'Muted', cell: ({ subject }) => (subject === ALL ? 'everything' : <Text of={subject} />) },
    { name: 'Tenant', cell: ({ tenant }) => (tenant === ALL ? 'all tenants' : <Text of={tenant} />) },
    { name: 'Until (UTC)', cell: ({ until }) => <Time at={until} /> },
    {
      name: 'Actions',
      cell: ({ subject, tenant }) => (
        <button
          type="button"
          onClick={() =>
            void act(
              () => write('DELETE /mutes', undefined, { query: { subject, tenant } }),
              `The mute of ${subject} has ended.`,
            )
          }
        >
          End the mute<span class="unseen"> of {visibleText(subject)}</span>
        </button>
      ),
    },
  ];
}

function formatLate(scores: number): string {
  return scores === 0 ? '' : `, ${formatNumber(scores)} too late`;
}

/** Scores that came more than an hour after their trace, which monitors do not count. */
function Late({ of: { lateScores, lastLateBucket } }: { readonly of: Monitor }) {
  return lateScores === 0 ? (
    <>0</>
  ) : (
    <>
      {formatNumber(lateScores)}
      <br />
      <small>
        last <Time at={lastLateBucket} />
      </small>
    </>
  );
}

const PHASES: Readonly<Record<Monitor['phase'], string>> = {
  learning: '… learning',
  ok: '✓ ok',
  pending: '◐ pending',
  firing: '▲ firing',
  recovering: '◐ recovering',
  no_data: '– no data',
  scorer_error: '✗ scorer errors',
  paused: '‖ paused',
};

const MONITOR_COLUMNS: readonly Column<Monitor>[] = [
  { name: 'Alert', cell: ({ alert, detector }) => <Text of={`${alert} (${detector})`} /> },
  {
    name: 'Series',
    cell: ({ series }) => <Text of={`${series.scorer} · ${describeSeriesFacets(series)}`} />,
  },
  { name: 'State', cell: ({ phase, muted }) => `${PHASES[phase]}${muted ? ' · muted' : ''}` },
  { name: 'Since (UTC)', cell: ({ since }) => <Time at={since} /> },
  { name: 'Mean (1 is best)', cell: ({ mean }) => formatScore(mean), isNumber: true },
  {
    name: 'Baseline',
    cell: ({ baseline, limit }) => (limit === null ? formatScore(baseline) : `limit ${formatScore(limit)}`),
    isNumber: true,
  },
  { name: 'Scores', cell: ({ scores }) => formatNumber(scores), isNumber: true },
  { name: 'Late (24 h)', cell: (monitor) => <Late of={monitor} />, isNumber: true },
  { name: 'Still needed', cell: ({ lacks }) => lacks ?? '–' },
];
