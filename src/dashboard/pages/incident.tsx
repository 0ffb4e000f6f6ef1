import { useRef } from 'preact/hooks';
import type { Incident as Reply, Versions } from '../api-types.ts';
import { read, write } from '../client.ts';
import { useOrders, type Order } from '../orders.tsx';
import { Checked } from '../parts/checked.tsx';
import { IssueLink } from '../parts/issues.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Mute as MuteMenu, MuteNote } from '../parts/mute.tsx';
import { Page } from '../parts/page.tsx';
import { SeriesFigure } from '../parts/series-figure.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Dotted, Text, TextLink, Time } from '../parts/text.tsx';
import { Evidence, VersionTable } from '../parts/versions.tsx';
import { useRead, useResource } from '../resource.ts';
import { framed, place } from '../router.ts';
import { mayUse } from '../session.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { nameValues } from '../../domain/segment-name.ts';
import { budgetName } from '../view-models/budget-name.ts';
import { formatNumber, formatPercent, formatScore } from '../view-models/format.ts';
import {
  describeChange,
  describeCulprit,
  describeHold,
  describeSeriesFacets,
  findRunbook,
  isCulpritKnown,
  writeCause,
  type Mute,
} from '../view-models/incidents.ts';
import { comparePath, scorerPath } from '../view-models/paths/row-paths.ts';
import { isMeasure } from '../view-models/trace-list.ts';
import { chooseVersions, sortQualities } from '../view-models/versions.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { versionOf } from '../view-models/worst-change.ts';

/** One incident: what changed, since when, by what, who was told, and what people wrote. */
export function Incident() {
  const incidentId = place.value?.params['incidentId'] ?? '';
  const incident = useRead('/alerts/{id}', { params: { id: incidentId } });
  const { outcome, order } = useOrders(incident.reload);
  const title = incident.kind === 'ready' ? nameIncident(incident.data) : 'Incident';
  return (
    <Page title={title}>
      <p>{outcome}</p>
      <Loaded of={incident} what="the incident">
        {(data) => (
          <>
            <Head incident={data} order={order} onMuted={incident.reload} />
            <div class={data.budget === undefined ? 'split' : undefined}>
              <div>
                {data.budget === undefined && <Series incident={data} />}
                <Messages messages={data.messages} />
                <Notes notes={data.notes} incidentId={data.incidentId} order={order} />
              </div>
              {data.budget === undefined && <Change incident={data} />}
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function nameIncident({ alert, series, budget }: Reply): string {
  const about = budget === undefined ? describeSeriesFacets(series) : budgetName(budget);
  return visibleText(`${alert} · ${about}`);
}

interface HeadProps {
  readonly incident: Reply;
  readonly order: Order;
  readonly onMuted: () => void;
}

function Head({ incident, order, onMuted }: HeadProps) {
  return (
    <div class={incident.status === 'firing' ? 'card incident-card' : 'card incident-card muted'}>
      <div>
        <p>
          <Course incident={incident} />
        </p>
        <Numbers incident={incident} />
      </div>
      <Actions incident={incident} order={order} onMuted={onMuted} />
    </div>
  );
}

/** Begin, end, who was told, and what keeps it quiet. */
function Course({ incident }: { readonly incident: Reply }) {
  const { status, startsAt, endsAt, changeBegan, acknowledgedAt, messages, mute } = incident;
  const told = messages.filter(({ state }) => state === 'sent').map(({ channel }) => channel);
  return (
    <Dotted>
      {status === 'firing' ? (
        <>
          <strong class="bad">▲ Open</strong> since <Time at={startsAt} />
        </>
      ) : (
        <>
          <strong class="good">✓ Ended</strong> <Time at={endsAt} />, began <Time at={startsAt} />
        </>
      )}
      {changeBegan !== null && (
        <>
          the change began about <Time at={changeBegan} />
        </>
      )}
      {acknowledgedAt !== null && (
        <>
          accepted as normal <Time at={acknowledgedAt} />
        </>
      )}
      {incident.held && <b>{describeHold(incident)}</b>}
      {told.length > 0 && <Text of={`told to ${[...new Set(told)].join(', ')}`} />}
      {mute !== null && <MuteNote mute={mute} />}
    </Dotted>
  );
}

function Actions({ incident, order, onMuted }: HeadProps) {
  const { incidentId: id, alert, status, mute } = incident;
  const runbook = findRunbook(incident.annotations);
  const accept = (): void =>
    order(
      () => write('POST /alerts/{id}/ack', undefined, { params: { id } }),
      `The change of ${alert} is accepted as normal.`,
    );
  const unmute = ({ subject, tenant }: Mute): void =>
    order(
      () => write('DELETE /mutes', undefined, { query: { subject, tenant } }),
      `The mute of ${subject} has ended.`,
    );
  return (
    <div class="row">
      {status === 'firing' && mayUse('admin') && (
        <button type="button" onClick={accept}>
          Accept as normal
        </button>
      )}
      {mute === null ? (
        <MuteMenu subject={id} name={alert} onDone={onMuted} />
      ) : (
        mayUse('admin') && (
          <button type="button" onClick={() => unmute(mute)}>
            Unmute
          </button>
        )
      )}
      {runbook !== undefined && (
        <a class="button primary" href={runbook} target="_blank" rel="noreferrer">
          Runbook <span aria-hidden="true">↗</span>
        </a>
      )}
    </div>
  );
}

/** Numbers of the change: before and after, or the limit, and how sure it is. */
function Numbers({ incident }: { readonly incident: Reply }) {
  const { series, budget, evidenceLog10, changeBegan, startsAt } = incident;
  if (budget !== undefined) {
    return (
      <p>
        <b>{budget.percent} %</b> of the budget is spent. <a href="/judges">Judges and cost</a>
      </p>
    );
  }
  const examples = framed('/traces', {
    scorer: series.scorer,
    order: 'worst',
    since: changeBegan ?? startsAt ?? undefined,
    agent: series.agent,
    environment: series.environment,
  });
  return (
    <p>
      <TextLink to={scorerPath(series.scorer, { agent: series.agent })} of={series.scorer} />{' '}
      <b>{describeChange(incident)}</b>
      {evidenceLog10 !== null && (
        <>
          , evidence <Evidence log10={evidenceLog10} />
        </>
      )}
      . <a href={examples}>Examples</a>
    </p>
  );
}

/** Days of the chart before the change. */
const DAYS_BEFORE = 8;

function Series({ incident }: { readonly incident: Reply }) {
  const { series, changeBegan, startsAt, endsAt } = incident;
  const { scorer, agent, environment, model, agentVersion, serviceVersion, service, target } = series;
  const began = changeBegan ?? startsAt;
  const asked = {
    scorer,
    agent,
    environment,
    model,
    agentVersion,
    serviceVersion,
    service,
    target,
    since: began === null ? '14d' : new Date(Date.parse(began) - DAYS_BEFORE * DAY_MS).toISOString(),
    until: endsAt ?? undefined,
  };
  const chart = useRead('/series', { query: asked });
  return (
    <Loaded of={chart} what="the series">
      {(data) => <SeriesFigure title="Before and after" data={data} by={[]} />}
    </Loaded>
  );
}

/** Card of the cause of the incident, and the versions of its agent side by side. */
function Change({ incident }: { readonly incident: Reply }) {
  const { series, cause, versions } = incident;
  const version = versionOf(incident);
  const culprit = describeCulprit(incident);
  const who = culprit === undefined ? null : <p>{culprit}</p>;
  return (
    <div>
      <section class="card" aria-labelledby="changed">
        <h2 id="changed">What changed</h2>
        {isCulpritKnown(incident) && who}
        <Segments cause={cause} />
        {!isCulpritKnown(incident) && who}
        {version !== '' && cause?.sentence.includes(version) === false && (
          <p>
            Version <Text of={version} /> began with the change.
          </p>
        )}
        <Checked scorer={series.scorer} agent={series.agent} />
        {incident.issues.length > 0 && (
          <>
            <h3>Issues that grew</h3>
            <ul class="plain">
              {incident.issues.map((issue) => (
                <li key={issue.id}>
                  <IssueLink issue={issue} />
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <div class="card">
        {versions ? (
          <ShortVersions versions={versions} agent={series.agent} />
        ) : (
          <LoadedVersions incident={incident} />
        )}
      </div>
    </div>
  );
}

/** Qualities and changed measures that the page compares; all of them are one click away. */
const MOST_QUALITIES = 5;

function ShortVersions({ versions, agent = '' }: { readonly versions: Versions; readonly agent?: string }) {
  const { left, right, items } = versions;
  const shown = sortQualities(items)
    .filter((item) => item.verdict !== 'not_shown' || !isMeasure(item))
    .slice(0, MOST_QUALITIES);
  return (
    <>
      <VersionTable versions={{ ...versions, items: shown }} />
      {items.length > shown.length && (
        <a href={framed(comparePath(agent, { left: left.version, right: right.version }))}>
          All {items.length} qualities
        </a>
      )}
    </>
  );
}

/** The newest version of the agent, and the one before it. */
function LoadedVersions({ incident: { series, agentVersion } }: { readonly incident: Reply }) {
  const { agent, environment } = series;
  const versions = useResource(
    `incident versions ${JSON.stringify([agent, environment])}`,
    async (signal) => {
      const { items } = await read('/agents', { query: { agent, environment, since: '90d' }, signal });
      const known = items.find((each) => agent === '' || each.agent === agent) ?? items[0];
      const right =
        known?.versions.some(({ version }) => version === agentVersion) === true ? agentVersion : null;
      const chosen = chooseVersions(known?.versions ?? [], { left: null, right });
      return known === undefined || chosen === undefined
        ? null
        : read('/agents/{agent}/versions', { params: { agent: known.agent }, query: chosen, signal });
    },
  );
  return (
    <Loaded
      of={versions}
      what="the versions"
      isEmpty={(data) => data === null}
      empty={<p>The agent has one version only.</p>}
    >
      {(data) => data !== null && <ShortVersions versions={data} agent={series.agent} />}
    </Loaded>
  );
}

/** Segments that are shown. */
const MOST_SEGMENTS = 6;

function Segments({ cause }: { readonly cause: Reply['cause'] }) {
  if (cause === null) {
    return <p>This alert is not about scores.</p>;
  }
  return (
    <>
      <p>
        <Text of={writeCause(cause)} />
      </p>
      {cause.segments.slice(0, MOST_SEGMENTS).map(({ segment, share, isNew, before, after, n, same }) => (
        <div key={nameValues(segment)} class="segment">
          <span>
            <Text of={[segment, ...same].map(nameValues).join(' or ')} />
            {isNew && <small> new</small>}
          </span>
          <svg class="segment-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width={100 * Math.min(Math.max(share, 0), 1)} height="6" />
          </svg>
          <span>
            <b>{formatPercent(Math.max(share, 0))}</b>{' '}
            <small>
              mean {formatScore(after)} of {formatNumber(n)}
              {before !== null && `, ${formatScore(before)} before`}
            </small>
          </span>
        </div>
      ))}
    </>
  );
}

type Message = Reply['messages'][number];

const FATES = { sent: '✓ sent', waiting: '… waiting', failed: '✗ failed' } as const;

const MESSAGE_COLUMNS: readonly Column<Message>[] = [
  { name: 'Channel', cell: ({ channel }) => <Text of={channel} /> },
  { name: 'At', cell: ({ at }) => <Time at={at} /> },
  {
    name: 'Fate',
    cell: ({ state }) => <span class={state === 'failed' ? 'bad' : undefined}>{FATES[state]}</span>,
  },
];

function Messages({ messages }: { readonly messages: readonly Message[] }) {
  return (
    <section class="card" aria-label="Messages">
      <Table
        caption="Messages sent"
        columns={MESSAGE_COLUMNS}
        rows={messages}
        keyOf={({ channel, at, state }) => JSON.stringify([channel, at, state])}
      />
      {messages.length === 0 && (
        <p class="note">
          No message was sent: no channel takes this alert, or it is muted. The key <code>alerts</code> of the
          configuration names channels.
        </p>
      )}
    </section>
  );
}

interface NotesProps {
  readonly notes: Reply['notes'];
  readonly incidentId: string;
  readonly order: Order;
}

function Notes({ notes, incidentId, order }: NotesProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const add = async (text: string): Promise<void> => {
    await write('POST /alerts/{id}/notes', { text }, { params: { id: incidentId } });
    if (field.current !== null) {
      field.current.value = '';
    }
  };
  return (
    <section class="card" aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      {notes.map(({ at, by, text }) => (
        <p key={`${at} ${text}`} class="incident-note">
          <Text of={text} />{' '}
          <small>
            <Text of={by ?? 'without a name'} />, <Time at={at} />
          </small>
        </p>
      ))}
      {mayUse('admin') && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const text = field.current?.value.trim() ?? '';
            if (text !== '') {
              order(() => add(text), 'The note is stored.');
            }
          }}
        >
          <label class="note-field">
            Note
            <textarea ref={field} rows={2} />
          </label>
          <button type="submit">Add note</button>
        </form>
      )}
    </section>
  );
}
