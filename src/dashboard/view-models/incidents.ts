import type { Item } from '../api-types.ts';

export type AlertEvent = Item<'/alerts'>;

/** Incident with its latest event. */
export interface Incident {
  readonly event: AlertEvent;
  readonly isOpen: boolean;
}

/** Joins the events of each incident: an end replaces its beginning. Newest first, open ones before the rest. */
export function joinIncidents(events: readonly AlertEvent[]): Incident[] {
  const groups = Map.groupBy(events, ({ incidentId }) => incidentId);
  const incidents = [...groups.values()].flatMap((group) => {
    const event = group.find(({ status }) => status === 'resolved') ?? group[0];
    return event === undefined ? [] : [{ event, isOpen: event.status === 'firing' }];
  });
  return incidents.toSorted(
    (a, b) =>
      Number(b.isOpen) - Number(a.isOpen) || (b.event.startsAt ?? '').localeCompare(a.event.startsAt ?? ''),
  );
}

/** Bar of an incident in a timeline: begin and length as shares of the whole time. */
export interface IncidentBar {
  readonly from: number;
  readonly width: number;
}

/** Builds the bar of an incident within a range of time, Unix milliseconds. */
export function buildIncidentBar(
  { event }: Incident,
  range: { readonly fromMs: number; readonly toMs: number },
): IncidentBar {
  const length = Math.max(range.toMs - range.fromMs, 1);
  const clamp = (ms: number) => Math.min(Math.max((ms - range.fromMs) / length, 0), 1);
  const from = clamp(event.startsAt === null ? range.fromMs : Date.parse(event.startsAt));
  const to = clamp(event.endsAt === null ? range.toMs : Date.parse(event.endsAt));
  return { from, width: Math.max(to - from, 0) };
}

/** Writes the series of an alert or a monitor: agent, environment and the facets that a rule splits by. */
export function describeSeriesFacets(series: AlertEvent['series']): string {
  const { agent, environment, target, model, agentVersion, serviceVersion, service } = series;
  const parts = [
    agent === '' ? 'all agents' : `agent ${agent}`,
    environment,
    target,
    model,
    agentVersion === undefined ? '' : `agent version ${agentVersion || 'unknown'}`,
    serviceVersion === undefined ? '' : `service version ${serviceVersion || 'unknown'}`,
    service,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(' · ');
}
