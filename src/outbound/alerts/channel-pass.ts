import type { AlertDelivery } from '../../store/contracts/alert-deliveries.ts';
import type { AlertChannel, AlertOutcome } from './alert-channel.ts';
import { deadAlert } from './dead-alert.ts';
import type { AlertDeliveryDeps, AlertDeliveryOptions } from './delivery-terms.ts';
import {
  buildDeliveries,
  listUnfinishedMessages,
  type PlannedMessage,
  planMessages,
} from './plan-messages.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Counts of a channel since the start. */
export interface ChannelCounts {
  delivered: number;
  /** Messages stored as dead letters. */
  dead: number;
  failedAttempts: number;
}

export interface ChannelPass {
  readonly name: string;
  readonly counts: ChannelCounts;
  /** Reads the events once and sends the messages that are due. Throws when the store does. */
  run(): Promise<void>;
}

export interface ChannelPassDeps extends AlertDeliveryDeps {
  /** Aborted at a stop: no further attempt begins. */
  readonly stopping: AbortSignal;
  /** Aborted at the end of the drain time: the running attempt ends. */
  readonly giveUp: AbortSignal;
}

/** Most events that are read at a time. Events of planned messages come first, so that no message is read in part. */
const MAX_PENDING = 2_000;
/** No new messages are planned while this many events belong to unfinished messages. */
const MAX_UNDER_WAY = 1_000;
/** Longest wait that a receiver may ask for, milliseconds. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Attempts of one message in this process; after a restart the message is tried at once. */
interface Tries {
  attempts: number;
  notBeforeMs: number;
}

export function createChannelPass(
  channel: AlertChannel,
  settings: Required<AlertDeliveryOptions>,
  deps: ChannelPassDeps,
): ChannelPass {
  return new Pass(channel, settings, deps);
}

class Pass implements ChannelPass {
  readonly counts: ChannelCounts = { delivered: 0, dead: 0, failedAttempts: 0 };
  readonly #channel: AlertChannel;
  readonly #settings: Required<AlertDeliveryOptions>;
  readonly #deps: ChannelPassDeps;
  readonly #tries = new Map<string, Tries>();
  /** Deliveries that were sent but not recorded. They are recorded before anything else, and not sent again. */
  readonly #unrecorded = new Map<string, readonly AlertDelivery[]>();
  /** Time before which nothing is sent: the receiver asked for a pause, or could not be reached. */
  #silentUntilMs = 0;
  #awayInARow = 0;
  #remindedAtMs = 0;

  constructor(channel: AlertChannel, settings: Required<AlertDeliveryOptions>, deps: ChannelPassDeps) {
    this.#channel = channel;
    this.#settings = settings;
    this.#deps = deps;
  }

  get name(): string {
    return this.#channel.name;
  }

  async run(): Promise<void> {
    await this.#recordTold();
    if (!(await this.#deps.isOurs(this.name))) {
      return;
    }
    const nowMs = await this.#deps.now();
    const messages = await this.#planMessages(nowMs);
    this.#forgetTriesBut(messages);
    if (nowMs >= this.#silentUntilMs) {
      await this.#sendDue(messages, nowMs);
      await this.#remind(nowMs);
    }
  }

  async #recordTold(): Promise<void> {
    for (const [id, deliveries] of this.#unrecorded) {
      await this.#deps.feed.record(deliveries);
      this.#unrecorded.delete(id);
    }
  }

  /**
   * Lists unfinished and new messages. The events of a message are recorded before its first attempt, so that every repeat is
   * the same.
   */
  async #planMessages(nowMs: number): Promise<PlannedMessage[]> {
    const { feed, mutes } = this.#deps;
    const { lookbackMs, groupWaitMs } = this.#settings;
    const pending = await feed.pending(this.name, nowMs - lookbackMs, MAX_PENDING);
    const underWay = listUnfinishedMessages(pending);
    if (
      pending.length === 0 ||
      underWay.reduce((sum, { events }) => sum + events.length, 0) >= MAX_UNDER_WAY
    ) {
      return underWay;
    }
    const { messages, muted } = planMessages(pending, {
      maxEvents: this.#channel.maxEvents,
      groupWaitMs,
      nowMs,
      mutes: await mutes(nowMs - lookbackMs),
    });
    const silent = muted.map((event) => ({ id: event.id, events: [event], plannedAtMs: nowMs, round: 0 }));
    await feed.record([
      ...silent.flatMap((message) => buildDeliveries(this.name, message, 'muted')),
      ...messages.flatMap((message) => buildDeliveries(this.name, message, 'planned')),
    ]);
    return [...underWay, ...messages];
  }

  #forgetTriesBut(messages: readonly PlannedMessage[]): void {
    const ids = new Set(messages.map(({ id }) => id));
    for (const id of this.#tries.keys()) {
      if (!ids.has(id)) {
        this.#tries.delete(id);
      }
    }
  }

  /**
   * Sends the messages that are due. The message with the fewest attempts comes first, so that a failing message delays no
   * other; the end of an incident never comes before its beginning.
   */
  async #sendDue(messages: readonly PlannedMessage[], nowMs: number): Promise<void> {
    const countAttempts = ({ id }: PlannedMessage) => this.#tries.get(id)?.attempts ?? 0;
    const waiting = new Set(messages.filter(isBeginning));
    const queue = [...messages].sort(
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
      if (this.#deps.stopping.aborted) {
        return;
      }
      const outcome = await this.#channel.send(message, this.#deps.giveUp);
      if (await this.#conclude(message, outcome, nowMs)) {
        waiting.delete(message);
      }
      if (outcome.kind === 'failed' && outcome.isAway) {
        return;
      }
    }
  }

  /** Records the outcome of an attempt. Returns true when the message is finished. */
  async #conclude(message: PlannedMessage, outcome: AlertOutcome, nowMs: number): Promise<boolean> {
    if (outcome.kind === 'delivered') {
      this.#awayInARow = 0;
      this.counts.delivered += message.events.length;
      this.#unrecorded.set(message.id, buildDeliveries(this.name, message, 'delivered'));
      await this.#recordTold();
      return true;
    }
    const attempts = (this.#tries.get(message.id)?.attempts ?? 0) + 1;
    const isOver = nowMs - message.plannedAtMs >= this.#settings.giveUpAfterMs;
    if (outcome.kind === 'refused' || isOver) {
      await this.#setAside(message, outcome, attempts);
      return true;
    }
    this.counts.failedAttempts += 1;
    const retryAfterMs = Math.min(outcome.error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
    const notBeforeMs = nowMs + Math.max(this.#backoffMs(attempts), retryAfterMs);
    this.#tries.set(message.id, { attempts, notBeforeMs });
    this.#deps.log.warn('an alert could not be delivered, trying again', {
      channel: this.name,
      attempts,
      error: outcome.error,
    });
    this.#noteAway(outcome, retryAfterMs, nowMs);
    return false;
  }

  #noteAway({ isAway }: { readonly isAway: boolean }, retryAfterMs: number, nowMs: number): void {
    if (isAway) {
      this.#awayInARow += 1;
      this.#silentUntilMs = nowMs + Math.max(this.#backoffMs(this.#awayInARow), retryAfterMs);
    }
  }

  #backoffMs(failures: number): number {
    const { firstRetryMs, maxRetryMs } = this.#settings;
    const doubled = Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 30), maxRetryMs);
    return doubled * (0.5 + this.#deps.random() / 2);
  }

  async #setAside(
    message: PlannedMessage,
    { error }: Exclude<AlertOutcome, { kind: 'delivered' }>,
    attempts: number,
  ): Promise<void> {
    const { deadLetters, feed, log } = this.#deps;
    await deadLetters.write([deadAlert(this.name, message, { error, attempts })]);
    await feed.record(buildDeliveries(this.name, message, 'dead', error.message));
    this.counts.dead += message.events.length;
    log.error('an alert was given up and set aside, see: spanscore dlq list', {
      channel: this.name,
      attempts,
      error,
    });
  }

  async #remind(nowMs: number): Promise<void> {
    const { reminders } = this.#channel;
    if (
      reminders === undefined ||
      nowMs - this.#remindedAtMs < reminders.everyMs ||
      this.#deps.stopping.aborted
    ) {
      return;
    }
    const { firing, resolved } = await this.#deps.feed.sent(this.name, nowMs - reminders.resolvedForMs);
    this.#remindedAtMs = nowMs;
    const events = [...firing, ...resolved];
    if (events.length === 0) {
      return;
    }
    const outcome = await reminders.send(events, this.#deps.giveUp);
    if (outcome.kind !== 'delivered') {
      this.counts.failedAttempts += 1;
      this.#deps.log.warn('reminders of alerts could not be sent', {
        channel: this.name,
        error: outcome.error,
      });
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
