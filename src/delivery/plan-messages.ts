import type { AlertEvent } from '../monitors/alert-event.ts';
import { isMuted, type Mute } from '../monitors/mute.ts';
import type { AlertDelivery, PendingAlert } from '../store/contracts/alert-deliveries.ts';
import type { AlertMessage } from './channels/channel.ts';

/** A planned message that is not finished. */
export interface PlannedMessage extends AlertMessage {
  readonly plannedAtMs: number;
  readonly round: number;
}

export interface PlanTerms {
  /** Most events in one message. */
  readonly maxEvents: number;
  /** Longest wait of an alert for further alerts of the same cause, milliseconds. */
  readonly groupWaitMs: number;
  /** Mutes that are active, and mutes that ended within the look-back time. */
  readonly mutes: readonly Mute[];
  readonly nowMs: number;
}

export interface Plan {
  readonly messages: readonly PlannedMessage[];
  /** Both events of incidents that began and ended while muted, even when they are read late. */
  readonly muted: readonly AlertEvent[];
}

/**
 * Plans messages for events that belong to no message yet. Alerts that come close together and may have one cause share a message:
 * alerts of one version of an agent and its service, and failures of scorers; every other alert gets its own. Events of a muted incident wait: they are sent when the mute ends
 * before the incident does, and dropped when the mute lasts to the end of the incident. The end of an incident is sent to every
 * receiver that got its beginning.
 */
export function planMessages(pending: readonly PendingAlert[], terms: PlanTerms): Plan {
  const open = pending.filter(({ plan }) => plan === null);
  const mutedIncidents = new Set<string>();
  const muted: AlertEvent[] = [];
  for (const { event } of open) {
    if (event.status !== 'firing') {
      continue;
    }
    const end = open.find(
      (other) => other.event.incidentId === event.incidentId && other.event !== event,
    )?.event;
    const isCovered = end !== undefined && isMuted(event, terms.mutes, end.endsAtMs ?? terms.nowMs);
    if (isCovered || isMuted(event, terms.mutes, terms.nowMs)) {
      mutedIncidents.add(event.incidentId);
      muted.push(...(end === undefined ? [] : [event, end]));
    }
  }
  const unmuted = open.filter(({ event }) => !mutedIncidents.has(event.incidentId));
  const messages = groupAlerts(unmuted, terms).flatMap((group) => planGroupMessages(group, terms));
  return { messages: dropEarlyEnds(messages, unmuted), muted };
}

/** Groups alerts of one cause, and returns the groups that have waited long enough. */
function groupAlerts(pending: readonly PendingAlert[], terms: PlanTerms): PendingAlert[][] {
  const { groupWaitMs, nowMs, maxEvents } = terms;
  const groups: PendingAlert[][] = [];
  const current = new Map<string, PendingAlert[]>();
  for (const each of [...pending].sort(byTime)) {
    const key = maxEvents === 1 ? undefined : findCause(each.event);
    const group = key === undefined ? undefined : current.get(key);
    const first = group?.[0];
    if (group !== undefined && first !== undefined && each.writtenAtMs - first.writtenAtMs <= groupWaitMs) {
      group.push(each);
      continue;
    }
    const opened = [each];
    groups.push(opened);
    if (key !== undefined) {
      current.set(key, opened);
    }
  }
  return groups.filter(
    ([first]) =>
      first !== undefined &&
      (maxEvents === 1 || findCause(first.event) === undefined || nowMs - first.writtenAtMs >= groupWaitMs),
  );
}

/**
 * Builds the key that alerts of one cause share: one deploy changes all scores of an agent, also where no version is known, and one
 * failing judge fails the scorers of all agents. Undefined for an alert about a budget.
 */
function findCause({ status, series, budget, detector, ...event }: AlertEvent): string | undefined {
  if (budget !== undefined) {
    return undefined;
  }
  const { tenant, agent, environment } = series;
  return JSON.stringify(
    detector === 'scorer_errors'
      ? [status, tenant, detector]
      : [status, tenant, agent, environment, event.serviceVersion, event.agentVersion],
  );
}

function byTime(a: PendingAlert, b: PendingAlert): number {
  return a.writtenAtMs - b.writtenAtMs || (a.event.id < b.event.id ? -1 : 1);
}

function planGroupMessages(
  group: readonly PendingAlert[],
  { maxEvents, nowMs }: PlanTerms,
): PlannedMessage[] {
  const messages: PlannedMessage[] = [];
  for (let first = 0; first < group.length; first += maxEvents) {
    const members = group.slice(first, first + maxEvents);
    const id = members[0]?.event.id ?? '';
    messages.push({ id, events: sortMembers(id, members), plannedAtMs: nowMs, round: 0 });
  }
  return messages;
}

/** Leaves out ends of incidents whose beginning still waits for other alerts of its cause. */
function dropEarlyEnds(messages: readonly PlannedMessage[], open: readonly PendingAlert[]): PlannedMessage[] {
  const planned = new Set(messages.flatMap(({ events }) => events.map(({ id }) => id)));
  const waiting = new Set(
    open
      .filter(({ event }) => event.status === 'firing' && !planned.has(event.id))
      .map(({ event }) => event.incidentId),
  );
  return messages.filter(({ events }) => !events.some(({ incidentId }) => waiting.has(incidentId)));
}

/** Lists messages that were planned earlier, with the same events. */
export function listUnfinishedMessages(pending: readonly PendingAlert[]): PlannedMessage[] {
  const byMessage = Map.groupBy(
    pending.filter(({ plan }) => plan !== null),
    ({ plan }) => plan?.messageId ?? '',
  );
  return [...byMessage].map(([id, members]) => ({
    id,
    events: sortMembers(id, members),
    plannedAtMs: Math.max(...members.map(({ plan }) => plan?.plannedAtMs ?? 0)),
    round: Math.max(...members.map(({ plan }) => plan?.round ?? 0)),
  }));
}

/**
 * Sorts the events: first the event that gave the message its id, then the others by id. The order is the same in every repeat.
 */
function sortMembers(messageId: string, members: readonly PendingAlert[]): AlertEvent[] {
  const rank = ({ id }: AlertEvent) => (id === messageId ? '' : id);
  return members.map(({ event }) => event).sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** Builds the delivery rows of a message. */
export function buildDeliveries(
  channel: string,
  { id, events, plannedAtMs, round }: PlannedMessage,
  state: AlertDelivery['state'],
  reason = '',
): AlertDelivery[] {
  return events.map((event) => ({
    channel,
    eventId: event.id,
    incidentId: event.incidentId,
    tenant: event.series.tenant,
    messageId: id,
    state,
    reason,
    plannedAtMs,
    round,
  }));
}
