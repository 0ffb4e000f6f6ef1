import type { AgentItem, Incident } from '../api-types.ts';
import { useRead } from '../resource.ts';
import { framed } from '../router.ts';
import { formatPercent } from '../view-models/format.ts';
import { type AlertEvent, describeCause } from '../view-models/incidents.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { comparePath } from '../view-models/paths/row-paths.ts';
import {
  agentOf,
  describeMeasure,
  isQuality,
  listWorse,
  versionOf,
  versionsOf,
  type OpenAlerts,
} from '../view-models/worst-change.ts';
import { Mute, MuteNote } from './mute.tsx';
import { Text, TextLink, Time } from './text.tsx';

interface WorstChangeProps {
  readonly open: OpenAlerts;
  readonly agents: readonly AgentItem[];
  /** True once the agents are loaded. */
  readonly isCounted: boolean;
  readonly onMute: () => void;
}

/** Worst open change in one sentence with what to do next; without one, that all is as before. */
export function WorstChange({ open, agents, isCounted, onMute }: WorstChangeProps) {
  return (
    <section
      class={open.worst === undefined ? 'card' : open.worst.muted ? 'card change muted' : 'card change'}
      aria-label="Worst change"
    >
      {open.worst === undefined ? (
        isCounted && <AsBefore agents={agents} />
      ) : (
        <Change event={open.worst} agents={agents} onMute={onMute} />
      )}
      <OtherAlerts open={open} />
    </section>
  );
}

function AsBefore({ agents }: { readonly agents: readonly AgentItem[] }) {
  if (agents.length === 0) {
    return <h2>No agent has run in this time. No monitor fires.</h2>;
  }
  const [first, ...more] = listWorse(agents);
  const count = agents.length === 1 ? 'The agent answers' : `All ${agents.length} agents answer`;
  return (
    <h2>
      {count} as in the 14 days before
      {first !== undefined && (
        <>
          , but for <Text of={first.quality.scorer} /> of{' '}
          <TextLink to={framed(fillPath('/agents/:agent', { agent: first.agent }))} of={first.agent} />:{' '}
          {formatPercent(first.quality.before?.value ?? 0)} → {formatPercent(first.quality.pass?.value ?? 0)}
          {more.length > 0 && `, and ${more.length} more`}. No monitor fires
        </>
      )}
      .
    </h2>
  );
}

interface ChangeProps {
  readonly event: AlertEvent;
  readonly agents: readonly AgentItem[];
  readonly onMute: () => void;
}

function Change({ event, agents, onMute }: ChangeProps) {
  const { incidentId, alert, changeBegan, startsAt } = event;
  const detail = useRead('/alerts/{id}', { params: { id: incidentId } });
  const incident = detail.kind === 'ready' ? detail.data : undefined;
  const { mute } = event;
  const began = changeBegan ?? startsAt;
  const version = versionOf(event);
  return (
    <div class="row between">
      <div class="sentence">
        <h2>
          <a href={framed(fillPath('/alerts/:incidentId', { incidentId }))} data-row-link>
            <Text of={agentOf(event)} /> {isQuality(event) ? 'answers worse' : <Text of={`: ${alert}`} />}{' '}
            since <Time at={began} isDay />
            {version !== '' && (
              <>
                , with version <Text of={version} />
              </>
            )}
          </a>
        </h2>
        <p class="quiet">
          <Text of={describeMeasure(incident ?? event)} />. <Text of={describeCause(event)} />
          {event.muted && <b> {mute === null ? 'muted' : <MuteNote mute={mute} />}</b>}
        </p>
      </div>
      <Steps event={event} incident={incident} agents={agents} onMute={onMute} />
    </div>
  );
}

interface StepsProps extends ChangeProps {
  /** Detail of the incident, once it is loaded. */
  readonly incident: Incident | undefined;
}

/** Steps that a person takes next: examples, versions side by side, a mute. */
function Steps({ event, incident, agents, onMute }: StepsProps) {
  const { incidentId, alert, series, changeBegan, startsAt } = event;
  const began = changeBegan ?? startsAt;
  const versions = versionsOf(
    incident,
    agents.find(({ agent }) => agent === series.agent),
  );
  const agent = series.agent === '' ? {} : { agent: series.agent };
  return (
    <div class="row">
      <a
        class="button primary"
        href={framed('/traces', {
          ...agent,
          scorer: series.scorer,
          order: 'worst',
          since: began ?? undefined,
        })}
      >
        Examples
      </a>
      <a class="button" href={framed(comparePath(series.agent, versions))}>
        Compare
        {versions !== undefined && (
          <>
            {' '}
            <Text of={versions.left} /> with <Text of={versions.right} />
          </>
        )}
      </a>
      <Mute subject={incidentId} name={alert} onDone={onMute} />
    </div>
  );
}

/** Other alerts that fire, with a link each. */
function OtherAlerts({ open: { others, budgets } }: Pick<WorstChangeProps, 'open'>) {
  const alerts = [...others, ...budgets];
  return alerts.length === 0 ? null : (
    <ul class="plain others small">
      {alerts.map((event) => (
        <li key={event.incidentId}>
          <a
            href={
              event.budget === undefined
                ? framed(fillPath('/alerts/:incidentId', { incidentId: event.incidentId }))
                : framed('/alerts')
            }
          >
            <span class="bad">▲</span>{' '}
            <Text
              of={
                event.budget === undefined
                  ? `${event.alert}: ${agentOf(event)}, ${describeMeasure(event)}`
                  : (event.annotations['summary'] ?? event.alert)
              }
            />
          </a>
          {event.muted && ' · muted'}
        </li>
      ))}
    </ul>
  );
}
