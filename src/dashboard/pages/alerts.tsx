import type { Item, Replies } from '../api-types.ts';
import { write } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Mute as MuteMenu, MuteNote } from '../parts/mute.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Dotted, Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { frame, framed, query } from '../router.ts';
import { mayUse } from '../session.ts';
import { useOrders, type Order } from '../orders.tsx';
import { budgetName } from '../view-models/budget-name.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { scorerPath } from '../view-models/paths/row-paths.ts';
import { formatNumber, formatPercent, formatUsd } from '../view-models/format.ts';
import {
  ALL,
  describeCause,
  describeHold,
  describeChange,
  describeSeriesFacets,
  describeStanding,
  findBudgetAlert,
  groupMonitors,
  joinIncidents,
  keepChosen,
  type AlertEvent,
  type Incident,
  type MonitorGroup,
  type Mute,
} from '../view-models/incidents.ts';
import { visibleText } from '../view-models/visible-text.ts';

/** Events of alerts that the page reads: several hundred incidents. */
const EVENTS = 500;

/** Incidents, budgets, the monitors of each rule, and what is muted. */
export function Alerts() {
  const cursor = query.value.get('cursor') ?? undefined;
  const open = useRead('/alerts', { query: { open: 'true', limit: EVENTS } });
  const { since, until } = frame.value;
  const alerts = useRead('/alerts', { query: { since, until, limit: EVENTS, cursor } });
  const mutes = useRead('/mutes', { query: { limit: EVENTS } });
  const onMuted = (): void => {
    open.reload();
    mutes.reload();
  };
  const { outcome, order } = useOrders(onMuted);
  return (
    <Page title="Alerts">
      <p>{outcome}</p>
      <Loaded of={open} what="the open incidents">
        {({ items }) => (
          <>
            <OpenIncidents incidents={joinIncidents(keepChosen(items, frame.value))} onMuted={onMuted} />
            <Budgets incidents={joinIncidents(items)} onMuted={onMuted} />
          </>
        )}
      </Loaded>
      <Monitors />
      <Loaded of={alerts} what="the alerts">
        {({ items, next }) => (
          <PastIncidents incidents={joinIncidents(keepChosen(items, frame.value))} next={next} />
        )}
      </Loaded>
      <Loaded of={mutes} what="the mutes" empty={<p>Nothing is muted.</p>}>
        {({ items }) => (
          <Table
            caption="Mutes"
            columns={muteColumns(order)}
            rows={items}
            keyOf={({ tenant, subject }) => JSON.stringify([tenant, subject])}
          />
        )}
      </Loaded>
    </Page>
  );
}

function PastIncidents({
  incidents,
  next,
}: {
  readonly incidents: readonly Incident[];
  readonly next: string | null;
}) {
  const past = incidents.filter(({ isOpen }) => !isOpen);
  return (
    <>
      {past.length === 0 ? (
        <p class="card">No incident has ended in this time.</p>
      ) : (
        <Table
          caption="Past incidents"
          columns={PAST_COLUMNS}
          rows={past}
          keyOf={({ event }) => event.incidentId}
        />
      )}
      {next !== null && <a href={framed('/alerts', { cursor: next })}>Older incidents</a>}
    </>
  );
}

interface ListProps {
  readonly incidents: readonly Incident[];
  readonly onMuted: () => void;
}

function OpenIncidents({ incidents, onMuted }: ListProps) {
  const open = incidents.filter(({ event, isOpen }) => isOpen && event.budget === undefined);
  return (
    <section aria-labelledby="open">
      <h2 id="open">Open incidents</h2>
      {open.length === 0 ? (
        <p class="card">
          ✓ No monitor fires
          {(frame.value['agent'] ?? frame.value['environment']) !== undefined && ' about this choice'}.
        </p>
      ) : (
        <ul class="plain" aria-labelledby="open">
          {open.map(({ event }) => (
            <IncidentCard key={event.incidentId} event={event} onMuted={onMuted} />
          ))}
        </ul>
      )}
    </section>
  );
}

function IncidentCard({ event, onMuted }: { readonly event: AlertEvent; readonly onMuted: () => void }) {
  const { incidentId, alert, series, changeBegan, startsAt, mute } = event;
  const cause = describeCause(event);
  return (
    <li class={mute === null ? 'card incident-card' : 'card incident-card muted'}>
      <div>
        <h3>
          <TextLink to={fillPath('/alerts/:incidentId', { incidentId })} of={alert} isRow /> ·{' '}
          <Text of={describeSeriesFacets(series)} />
        </h3>
        <p>
          <Text of={series.scorer} />{' '}
          <Dotted>
            <>
              <b>{describeChange(event)}</b> since <Time at={changeBegan ?? startsAt} />
            </>
            {cause !== '' && <Text of={cause} />}
            {event.held && <b>{describeHold(event)}</b>}
            {mute !== null && <MuteNote mute={mute} />}
          </Dotted>
        </p>
      </div>
      <MuteMenu subject={incidentId} name={alert} onDone={onMuted} />
    </li>
  );
}

type Limit = Replies['/judges']['budgets'][number];

/** Limits of money: one row each, with the alert of its greatest percentage. */
function Budgets({ incidents, onMuted }: ListProps) {
  const judges = useRead('/judges', { query: { since: '1h' } });
  const columns: readonly Column<Limit>[] = [
    { name: 'Budget', cell: (limit) => <Text of={budgetName(limit)} /> },
    {
      name: 'Spent',
      cell: ({ spentUsd, capUsd }) =>
        `${formatUsd(spentUsd)} of ${formatUsd(capUsd)} (${formatPercent(spentUsd, capUsd)})`,
      isNumber: true,
    },
    {
      name: 'State',
      cell: (limit) => {
        const event = findBudgetAlert(incidents, limit);
        if (event === undefined) {
          return '✓ ok';
        }
        const { mute } = event;
        return (
          <Dotted>
            <>
              <strong class="bad">▲ {event.budget?.percent} % spent</strong> since{' '}
              <Time at={event.startsAt} />
            </>
            {mute !== null && <MuteNote mute={mute} />}
          </Dotted>
        );
      },
    },
    { name: 'Full again', cell: ({ renewsAt }) => <Time at={renewsAt} /> },
    {
      name: 'Actions',
      cell: (limit) => {
        const event = findBudgetAlert(incidents, limit);
        return event === undefined ? (
          '–'
        ) : (
          <MuteMenu subject={event.incidentId} name={budgetName(limit)} onDone={onMuted} />
        );
      },
    },
  ];
  return (
    <Loaded of={judges} what="the budgets">
      {({ budgets }) => (
        <section class="card" aria-label="Limits">
          <Table caption="Budgets" columns={columns} rows={budgets} keyOf={budgetName} />
          {budgets.length === 0 && (
            <p class="note">No budget is configured: nothing limits what judges may cost.</p>
          )}
        </section>
      )}
    </Loaded>
  );
}

function Monitors() {
  const monitors = useRead('/monitors', { query: { limit: EVENTS, order: 'firing' } });
  return (
    <Loaded
      of={monitors}
      what="the monitors"
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
          rows={groupMonitors(keepChosen(items, frame.value))}
          keyOf={({ key }) => key}
        />
      )}
    </Loaded>
  );
}

type Monitor = Item<'/monitors'>;

const MONITOR_COLUMNS: readonly Column<MonitorGroup>[] = [
  { name: 'Rule', cell: ({ alert, detector }) => <Text of={`${alert} (${detector})`} /> },
  {
    name: 'States',
    cell: ({ states, others, isFiring }) => (
      <>
        <span class={isFiring ? 'bad' : undefined}>
          {isFiring && '▲ '}
          {states}
        </span>
        {others.length > 0 && (
          <details>
            <summary>Series that are not ok</summary>
            {others.map((each) => (
              <p key={`${each.ruleKey} ${JSON.stringify(each.series)}`}>
                <OtherState of={each} />
              </p>
            ))}
          </details>
        )}
      </>
    ),
  },
  { name: 'Scores', cell: ({ scores }) => formatNumber(scores), isNumber: true },
  { name: 'Late scores, 24 h', cell: ({ late }) => formatNumber(late), isNumber: true },
];

function OtherState({ of: monitor }: { readonly of: Monitor }) {
  const { series, phase, since, lacks, muted } = monitor;
  return (
    <>
      <TextLink to={scorerPath(series.scorer)} of={series.scorer} /> of{' '}
      <Text of={describeSeriesFacets(series)} />: {phase.replaceAll('_', ' ')} since <Time at={since} />,{' '}
      {describeStanding(monitor)}
      {muted && ', muted'}
      {lacks !== null && (
        <>
          , still needs <Text of={lacks} />
        </>
      )}
    </>
  );
}

const PAST_COLUMNS: readonly Column<Incident>[] = [
  {
    name: 'Alert',
    cell: ({ event: { incidentId, alert, acknowledgedAt } }) => (
      <>
        <TextLink to={fillPath('/alerts/:incidentId', { incidentId })} of={alert} isRow />
        {acknowledgedAt !== null && <small> accepted as normal</small>}
      </>
    ),
  },
  {
    name: 'Series',
    cell: ({ event: { series, budget } }) => (
      <Text
        of={budget === undefined ? `${series.scorer}, ${describeSeriesFacets(series)}` : budgetName(budget)}
      />
    ),
  },
  { name: 'Began', cell: ({ event }) => <Time at={event.startsAt} /> },
  { name: 'Ended', cell: ({ event }) => <Time at={event.endsAt} /> },
  {
    name: 'Change',
    cell: ({ event }) =>
      event.budget === undefined ? describeChange(event) : `${event.budget.percent} % spent`,
  },
];

function muteColumns(order: Order): Column<Mute>[] {
  return [
    { name: 'Muted', cell: ({ subject }) => (subject === ALL ? 'everything' : <Text of={subject} />) },
    { name: 'By', cell: ({ by, reason }) => <Text of={[by, reason].filter(Boolean).join(': ') || '–'} /> },
    { name: 'Tenant', cell: ({ tenant }) => (tenant === ALL ? 'all tenants' : <Text of={tenant} />) },
    { name: 'Until', cell: ({ until }) => <Time at={until} /> },
    {
      name: 'Actions',
      cell: ({ subject, tenant }) =>
        mayUse('admin') && (
          <button
            type="button"
            onClick={() =>
              order(
                () => write('DELETE /mutes', undefined, { query: { subject, tenant } }),
                `The mute of ${subject} has ended.`,
              )
            }
          >
            Unmute<span class="unseen"> {visibleText(subject)}</span>
          </button>
        ),
    },
  ];
}
