import type { AlertEvent } from '../../monitors/alert-event.ts';
import { isMuted, type Mute } from '../../monitors/mute.ts';
import type { AlertDelivery, PendingAlert } from '../../store/contracts/alert-deliveries.ts';
import type { AlertMessage } from './alert-channel.ts';

/** A message under way. */
export interface PlannedMessage extends AlertMessage {
  readonly plannedAtMs: number;
  readonly round: number;
}

export interface PlanTerms {
  /** Most events in one message. */
  readonly maxEvents: number;
  /** Time that alerts of one deploy wait for each other, milliseconds. */
  readonly groupWaitMs: number;
  /** Mutes that hold now, and mutes that ended within the look-back. */
  readonly mutes: readonly Mute[];
  readonly nowMs: number;
}

export interface Plan {
  readonly messages: readonly PlannedMessage[];
  /** Both events of incidents that came and went while muted, however late that is seen. */
  readonly muted: readonly AlertEvent[];
}

/**
 * Puts events that belong to no message yet into new ones: alerts of one version of an agent and its service that come close
 * together into one, all others each into its own. What is muted waits, and is told when the mute ends before its incident; a
 * mute that ends after its incident covers it whole. An end is told to whom the beginning was told.
 */
export function planMessages(pending: readonly PendingAlert[], terms: PlanTerms): Plan {
  const open = pending.filter(({ plan }) => plan === null);
  const held = new Set<string>();
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
      held.add(event.incidentId);
      muted.push(...(end === undefined ? [] : [event, end]));
    }
  }
  const speaking = open.filter(({ event }) => !held.has(event.incidentId));
  const messages = groupAlerts(speaking, terms).flatMap((group) => planGroupMessages(group, terms));
  return { messages: beginningsFirst(messages, speaking), muted };
}

/** Groups that wait no longer. */
function groupAlerts(pending: readonly PendingAlert[], terms: PlanTerms): PendingAlert[][] {
  const { groupWaitMs, nowMs, maxEvents } = terms;
  const groups: PendingAlert[][] = [];
  const current = new Map<string, PendingAlert[]>();
  for (const each of [...pending].sort(byTime)) {
    const key = maxEvents === 1 ? undefined : findDeploy(each.event);
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
      (maxEvents === 1 || findDeploy(first.event) === undefined || nowMs - first.writtenAtMs >= groupWaitMs),
  );
}

/** Key that alerts of one deploy share; undefined where no version is known. */
function findDeploy({ status, series, ...event }: AlertEvent): string | undefined {
  const versions = [event.serviceVersion, event.agentVersion];
  return versions.every((version) => version === '')
    ? undefined
    : JSON.stringify([status, series.tenant, series.agent, series.environment, ...versions]);
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

/** Without ends whose beginning waits for others of its deploy. */
function beginningsFirst(
  messages: readonly PlannedMessage[],
  open: readonly PendingAlert[],
): PlannedMessage[] {
  const planned = new Set(messages.flatMap(({ events }) => events.map(({ id }) => id)));
  const waiting = new Set(
    open
      .filter(({ event }) => event.status === 'firing' && !planned.has(event.id))
      .map(({ event }) => event.incidentId),
  );
  return messages.filter(({ events }) => !events.some(({ incidentId }) => waiting.has(incidentId)));
}

/** Messages that were planned before, as they were put together. */
export function messagesUnderWay(pending: readonly PendingAlert[]): PlannedMessage[] {
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

/** The one that gave the message its id, then the others by theirs: the same order for every repeat. */
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
