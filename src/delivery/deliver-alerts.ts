import { v5 as uuidv5 } from 'uuid';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/durations.ts';
import { type AlertEvent, JUDGE_DETECTOR } from '../monitors/alert-event.ts';
import { isMuted, type Mute } from '../monitors/mute.ts';
import type { AlertDelivery } from '../domain/delivery.ts';
import type { PendingAlert } from '../store/contracts/monitors.ts';
import type { AlertFeed } from '../store/monitors/alert-deliveries.ts';
import type { DeadLetterSink } from '../store/contracts/dead-letters.ts';
import type { Log } from '../telemetry/log.ts';
import type { AlertChannel, AlertMessage } from './channels/channel.ts';
import {
  backoffMs,
  buildDeadLetter,
  CHANNEL_NAMES,
  type Delivery,
  type DeliveryLoop,
  type EpochTerms,
  type Failure,
  type LoopDeps,
  type LoopTimes,
  type RetryTimes,
  startDelivery,
} from './deliver.ts';

/** Times of the delivery of alerts, milliseconds. */
interface AlertTimes extends LoopTimes, Omit<RetryTimes, 'random'> {
  /** Age after which an ended incident is not sent to a channel that never sent its beginning. */
  readonly lookbackMs: number;
  /** Longest wait of an alert for further alerts of the same deploy. */
  readonly groupWaitMs: number;
  /** Age after which an undelivered message becomes a dead letter. */
  readonly giveUpAfterMs: number;
}

const TIMES: AlertTimes = {
  intervalMs: 2_000,
  lookbackMs: DAY_MS,
  groupWaitMs: 30_000,
  firstRetryMs: 1_000,
  maxRetryMs: 5 * MINUTE_MS,
  giveUpAfterMs: DAY_MS,
  drainMs: 5_000,
};

interface AlertDeps {
  readonly feed: AlertFeed;
  /** Mutes that are active, or that ended after a time (Unix milliseconds). */
  readonly mutes: (sinceMs: number) => Promise<readonly Mute[]>;
  readonly deadLetters: DeadLetterSink;
  /** True: alerts about judges that changed are sent. Default: false. */
  readonly sendsJudgeDrift?: boolean | undefined;
  readonly log: Log;
  /** Unix milliseconds by the store's clock. */
  readonly now: () => number | Promise<number>;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

export function startAlertDelivery(
  channels: readonly AlertChannel[],
  times: Partial<AlertTimes>,
  deps: AlertDeps & LoopDeps,
): DeliveryLoop {
  const tasks = channels.map((channel) => ({
    name: channel.name,
    begin: (terms: EpochTerms) => new ChannelDelivery(channel, times, { ...deps, ...terms }),
  }));
  return startDelivery(tasks, { ...TIMES, ...times }, CHANNEL_NAMES, deps);
}

export const ALERT_SIGNAL = 'alerts';

/** Builds the delivery rows that send a dead message again. Throws for bytes that are no dead message. */
export function revivedDeliveries(body: Uint8Array, nowMs: number): AlertDelivery[] {
  const { deliveries } = JSON.parse(Buffer.from(body).toString('utf8')) as { deliveries: AlertDelivery[] };
  const again = { state: 'planned', reason: '', plannedAtMs: nowMs } as const;
  return deliveries.map((delivery) => ({ ...delivery, ...again, round: delivery.round + 1 }));
}

/** Most events that are read at a time. Events of planned messages come first, so that no message is read in part. */
const MAX_PENDING = 2_000;
/** No new messages are planned while this many events belong to unfinished messages. */
const MAX_UNDER_WAY = 1_000;
/** Longest wait that a receiver may ask for, milliseconds. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Attempts of one message in this epoch; in the next one the message is tried at once. */
interface Tries {
  attempts: number;
  notBeforeMs: number;
}

export class ChannelDelivery implements Delivery {
  readonly #channel: AlertChannel;
  readonly #times: AlertTimes;
  readonly #deps: AlertDeps & EpochTerms;
  readonly #tries = new Map<string, Tries>();
  /** Deliveries that were sent but not recorded. They are recorded before anything else, and not sent again. */
  #unrecorded: AlertDelivery[] = [];
  /** Time before which nothing is sent: the receiver asked for a pause, or could not be reached. */
  #silentUntilMs = 0;
  #awayInARow = 0;
  #remindedAtMs = 0;

  constructor(channel: AlertChannel, times: Partial<AlertTimes>, deps: AlertDeps & EpochTerms) {
    this.#channel = channel;
    this.#times = { ...TIMES, ...times };
    this.#deps = deps;
  }

  get isDown(): boolean {
    return this.#awayInARow > 0;
  }

  async pass(): Promise<boolean> {
    await this.#record();
    const nowMs = await this.#deps.now();
    const messages = await this.#planMessages(nowMs);
    const ids = new Set(messages.map(({ id }) => id));
    for (const id of this.#tries.keys()) {
      if (!ids.has(id)) {
        this.#tries.delete(id);
      }
    }
    if (nowMs >= this.#silentUntilMs) {
      await this.#sendDue(messages, nowMs);
      await this.#remind(nowMs);
    }
    return false;
  }

  async #record(deliveries: readonly AlertDelivery[] = []): Promise<void> {
    this.#unrecorded.push(...deliveries);
    if (this.#unrecorded.length > 0) {
      await this.#deps.checkDuty();
      await this.#deps.feed.record(this.#unrecorded);
      this.#unrecorded = [];
    }
  }

  /**
   * Lists unfinished and new messages. The events of a message are recorded before its first attempt, so that every repeat is
   * the same.
   */
  async #planMessages(nowMs: number): Promise<PlannedMessage[]> {
    const { feed, mutes, checkDuty, sendsJudgeDrift = false } = this.#deps;
    const { name, maxEvents } = this.#channel;
    const { lookbackMs, groupWaitMs } = this.#times;
    const pending = await feed.pending(name, nowMs - lookbackMs, MAX_PENDING);
    const underWay = listUnfinishedMessages(pending);
    const countEvents = underWay.reduce((sum, { events }) => sum + events.length, 0);
    if (pending.length === 0 || countEvents >= MAX_UNDER_WAY) {
      return underWay;
    }
    const active = await mutes(nowMs - lookbackMs);
    const terms = { maxEvents, groupWaitMs, nowMs, mutes: active, sendsJudgeDrift };
    const { messages, muted } = planMessages(pending, terms);
    const silent = muted.map((event) => ({ id: event.id, events: [event], plannedAtMs: nowMs, round: 0 }));
    await checkDuty();
    await feed.record([
      ...silent.flatMap((message) => buildDeliveries(name, message, 'muted')),
      ...messages.flatMap((message) => buildDeliveries(name, message, 'planned')),
    ]);
    return [...underWay, ...messages];
  }

  /**
   * Sends the messages that are due. The message with the fewest attempts comes first, so that a failing message delays no
   * other; the end of an incident never comes before its beginning.
   */
  async #sendDue(messages: readonly PlannedMessage[], nowMs: number): Promise<void> {
    const { giveUp, checkDuty, log } = this.#deps;
    const countAttempts = ({ id }: PlannedMessage) => this.#tries.get(id)?.attempts ?? 0;
    const waiting = new Set(messages.filter(isBeginning));
    const queue = messages.toSorted(
      (a, b) =>
        countAttempts(a) - countAttempts(b) ||
        a.plannedAtMs - b.plannedAtMs ||
        Number(isBeginning(b)) - Number(isBeginning(a)),
    );
    for (const message of queue) {
      const isDue = (this.#tries.get(message.id)?.notBeforeMs ?? 0) <= nowMs;
      if (!isDue || (!isBeginning(message) && isAhead(waiting, message))) {
        continue;
      }
      if (giveUp.aborted) {
        return;
      }
      await checkDuty();
      const outcome = await this.#channel.send(message, giveUp);
      if (outcome.kind === 'delivered') {
        this.#awayInARow = 0;
        this.#deps.counts.delivered += message.events.length;
        await this.#record(buildDeliveries(this.#channel.name, message, 'delivered'));
        waiting.delete(message);
      } else if (giveUp.aborted) {
        log.warn('an alert was being sent when its channel stopped: it is sent again', {
          channel: this.#channel.name,
        });
        return;
      } else if (await this.#giveUpOrWait(message, outcome, nowMs)) {
        waiting.delete(message);
      }
      if (outcome.kind === 'away') {
        return;
      }
    }
  }

  /** Notes a failed attempt. Returns true when the message is given up. */
  async #giveUpOrWait(message: PlannedMessage, { kind, error }: Failure, nowMs: number): Promise<boolean> {
    const { counts, log } = this.#deps;
    const channel = this.#channel.name;
    const attempts = (this.#tries.get(message.id)?.attempts ?? 0) + 1;
    if (kind === 'refused' || nowMs - message.plannedAtMs >= this.#times.giveUpAfterMs) {
      await this.#setAside(message, error, attempts);
      log.error('an alert was given up and set aside, see: spanscore dlq list', { channel, attempts, error });
      return true;
    }
    counts.failures += 1;
    this.#tries.set(message.id, { attempts, notBeforeMs: nowMs + this.#waitMs(attempts, error) });
    log.warn('an alert could not be delivered, trying again', { channel, attempts, error });
    if (kind === 'away') {
      this.#awayInARow += 1;
      this.#silentUntilMs = nowMs + this.#waitMs(this.#awayInARow, error);
    }
    return false;
  }

  #waitMs(failures: number, { retryAfterMs = 0 }: Failure['error']): number {
    const backoff = backoffMs(failures, { ...this.#times, random: this.#deps.random });
    return Math.max(backoff, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
  }

  async #setAside(message: PlannedMessage, error: Failure['error'], attempts: number): Promise<void> {
    const { deadLetters, counts, checkDuty } = this.#deps;
    const source = this.#channel.name;
    const { id, round, events } = message;
    const deliveries = buildDeliveries(source, message, 'dead', error.message);
    const tenant = events[0]?.series.tenant ?? '';
    const facts = { id: uuidv5(`${source} ${round}`, id), source, tenant, signal: ALERT_SIGNAL, attempts };
    await checkDuty();
    await deadLetters.write([buildDeadLetter(facts, error, { deliveries, events })]);
    await this.#record(deliveries);
    counts.dead += events.length;
  }

  async #remind(nowMs: number): Promise<void> {
    const { feed, counts, log, giveUp } = this.#deps;
    const { name, reminders } = this.#channel;
    if (reminders === undefined || nowMs - this.#remindedAtMs < reminders.everyMs || giveUp.aborted) {
      return;
    }
    const { firing, resolved } = await feed.sent(name, nowMs - reminders.resolvedForMs);
    this.#remindedAtMs = nowMs;
    const events = [...firing, ...resolved];
    const outcome = events.length === 0 ? undefined : await reminders.send(events, giveUp);
    if (outcome !== undefined && outcome.kind !== 'delivered') {
      counts.failures += 1;
      log.warn('reminders of alerts could not be sent', { channel: name, error: outcome.error });
    }
  }
}

function isBeginning({ events }: PlannedMessage): boolean {
  return events[0]?.status === 'firing';
}

/** Returns true while a firing message of the same incident waits. */
function isAhead(waiting: ReadonlySet<PlannedMessage>, message: PlannedMessage): boolean {
  const incidents = new Set(message.events.map(({ incidentId }) => incidentId));
  return [...waiting].some(({ events }) => events.some(({ incidentId }) => incidents.has(incidentId)));
}

/** A planned message that is not finished. */
interface PlannedMessage extends AlertMessage {
  readonly plannedAtMs: number;
  readonly round: number;
}

export interface PlanTerms extends Pick<AlertChannel, 'maxEvents'>, Pick<AlertTimes, 'groupWaitMs'> {
  /** Mutes that are active, and mutes that ended within the look-back time. */
  readonly mutes: readonly Mute[];
  /** True: alerts about judges that changed are sent. */
  readonly sendsJudgeDrift: boolean;
  readonly nowMs: number;
}

/** Time after which an alert is sent although nobody has told who changed, milliseconds beyond its own wait. */
const UNDECIDED_MS = 5 * MINUTE_MS;

/** Returns true for an alert that waits until it is known who changed. */
function isDeciding({ culprit }: AlertEvent, nowMs: number): boolean {
  return culprit?.who === 'deciding' && nowMs < culprit.decideByMs + UNDECIDED_MS;
}

/**
 * Plans messages for events that belong to no message yet. Alerts that come close together and may have one cause share a message:
 * alerts of one version of an agent and its service, and failures of scorers; every other alert gets its own. Events of a muted incident wait: they are sent when the mute ends
 * before the incident does, and dropped when the mute lasts to the end of the incident. Events of a held incident are never sent, and those
 * of an incident wait until it is known who changed. The end of an incident is sent to every
 * receiver that got its beginning.
 * @returns `muted`: both events of incidents that began and ended while muted, even when they are read late
 */
export function planMessages(pending: readonly PendingAlert[], terms: PlanTerms) {
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
    const isHeld = event.held === true || (event.detector === JUDGE_DETECTOR && !terms.sendsJudgeDrift);
    const isCovered = end !== undefined && isMuted(event, terms.mutes, end.endsAtMs ?? terms.nowMs);
    if (isDeciding(event, terms.nowMs)) {
      mutedIncidents.add(event.incidentId);
    } else if (isHeld || isCovered || isMuted(event, terms.mutes, terms.nowMs)) {
      mutedIncidents.add(event.incidentId);
      muted.push(...(end === undefined ? [] : [event, end]));
    }
  }
  const unmuted = open.filter(({ event }) => !mutedIncidents.has(event.incidentId));
  const messages = groupAlerts(unmuted, terms).flatMap((group) => planGroupMessages(group, terms));
  return { messages: dropEarlyEnds(messages, unmuted), muted };
}

/** An alert that is further ahead of the store's clock came before that clock went back, milliseconds. */
const AHEAD_MS = MINUTE_MS;

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
  const hasWaited = ({ writtenAtMs }: PendingAlert) =>
    nowMs - writtenAtMs >= groupWaitMs || writtenAtMs - nowMs > AHEAD_MS;
  return groups.filter(
    ([first]) =>
      first !== undefined && (maxEvents === 1 || findCause(first.event) === undefined || hasWaited(first)),
  );
}

/**
 * Builds the key that alerts of one cause share: one deploy changes all scores of an agent, also where no version is known, and one
 * failing judge fails the scorers of all agents. Undefined for an alert about a budget or an issue.
 */
function findCause({ status, series, budget, issue, detector, ...event }: AlertEvent): string | undefined {
  if (budget !== undefined || issue !== undefined) {
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

function buildDeliveries(
  receiver: string,
  { id, events, plannedAtMs, round }: PlannedMessage,
  state: AlertDelivery['state'],
  reason = '',
): AlertDelivery[] {
  return events.map((event) => ({
    receiver,
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
