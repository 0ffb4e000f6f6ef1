import { v5 as uuidv5 } from 'uuid';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/durations.ts';
import type { Mute } from '../monitors/mute.ts';
import type { AlertDelivery, AlertFeed } from '../store/contracts/alert-deliveries.ts';
import type { DeadLetterSink } from '../store/contracts/dead-letters.ts';
import type { Log } from '../telemetry/log.ts';
import type { AlertChannel } from './channels/channel.ts';
import {
  backoffMs,
  buildDeadLetter,
  CHANNEL_NAMES,
  type Delivery,
  type DeliveryLoop,
  type EpochTerms,
  type Failure,
  type LoopTimes,
  type ReceiverDuties,
  type RetryTimes,
  startDelivery,
} from './deliver.ts';
import {
  buildDeliveries,
  listUnfinishedMessages,
  type PlannedMessage,
  planMessages,
} from './plan-messages.ts';

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
  readonly log: Log;
  /** Unix milliseconds by the store's clock. */
  readonly now: () => number | Promise<number>;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** Starts to send alerts over every channel. */
export function startAlertDelivery(
  channels: readonly AlertChannel[],
  times: Partial<AlertTimes>,
  deps: AlertDeps & { readonly duties: ReceiverDuties },
): DeliveryLoop {
  const settings = { ...TIMES, ...times };
  const tasks = channels.map((channel) => ({
    name: channel.name,
    begin: (terms: EpochTerms) => createAlertDelivery(channel, settings, { ...deps, ...terms }),
  }));
  return startDelivery(tasks, settings, CHANNEL_NAMES, deps);
}

/** Creates the deliveries of one epoch of a channel. */
export function createAlertDelivery(
  channel: AlertChannel,
  times: Partial<AlertTimes>,
  deps: AlertDeps & EpochTerms,
): Delivery {
  return new AlertMessages(channel, { ...TIMES, ...times }, deps);
}

/** Signal of dead letters that contain alerts. */
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

class AlertMessages implements Delivery {
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

  constructor(channel: AlertChannel, times: AlertTimes, deps: AlertDeps & EpochTerms) {
    this.#channel = channel;
    this.#times = times;
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
    const { feed, mutes, checkDuty } = this.#deps;
    const { name, maxEvents } = this.#channel;
    const { lookbackMs, groupWaitMs } = this.#times;
    const pending = await feed.pending(name, nowMs - lookbackMs, MAX_PENDING);
    const underWay = listUnfinishedMessages(pending);
    const countEvents = underWay.reduce((sum, { events }) => sum + events.length, 0);
    if (pending.length === 0 || countEvents >= MAX_UNDER_WAY) {
      return underWay;
    }
    const terms = { maxEvents, groupWaitMs, nowMs, mutes: await mutes(nowMs - lookbackMs) };
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
    const { giveUp, checkDuty } = this.#deps;
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
