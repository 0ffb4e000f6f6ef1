import type { AppError } from '../domain/errors.ts';
import type { PendingExport } from '../store/contracts/score-feed.ts';
import { backoffMs, type Failure, type Outcome, type RetryTimes } from './deliver.ts';

export type Message = readonly PendingExport[];

interface AttemptSettings extends RetryTimes {
  readonly maxBatch: number;
  readonly attempts: number;
  /** Time for which a score of an unknown trace is tried again, milliseconds. Default 0. */
  readonly unknownForMs?: number | undefined;
}

/** After so many failed first attempts in a row, the receiver is down for all scores. */
const DOWN_AFTER = 3;
/** After so many failed repeats in a row, further repeats wait. First attempts go on. */
const REPEATS_WAIT_AFTER = 2;
/** Failures after a delivery that the next delivery proves to be of their scores. Later ones may be of the receiver. */
const MAX_SUSPECTS = 2;

interface Tries {
  readonly pending: PendingExport;
  /** Failures of the score alone. */
  failures: number;
  /** Failures that other scores did not share. */
  attempts: number;
  notBeforeMs: number;
  /** Time of the first attempt after which the receiver did not know the trace. */
  unknownSinceMs?: number;
  /** Number of the last message with this score, for an order in which every score gets its turn. */
  triedAt: number;
  /** Most scores in the next message with this score: it is halved until the failing score is alone. */
  largestMessage: number;
  error: AppError;
}

/**
 * Decides which scores are sent next, and when. It holds failures against a score only while other scores are delivered. While
 * the receiver is down for all scores, it sends one score at a time, at growing intervals. Times are milliseconds of any one
 * clock.
 */
export class AttemptBook {
  readonly #settings: AttemptSettings;
  readonly #tries = new Map<string, Tries>();
  /** First scores that failed alone since the last delivery; true when that failure is counted already. */
  readonly #suspects = new Map<string, boolean>();
  #messages = 0;
  #failedFirsts = 0;
  #failedRepeats = 0;
  #repeatsWaitUntilMs = 0;
  #failuresWhileDown = 0;
  #pausedUntilMs = 0;

  constructor(settings: AttemptSettings) {
    this.#settings = settings;
  }

  get size(): number {
    return this.#tries.size;
  }

  get isDown(): boolean {
    return this.#failuresWhileDown > 0;
  }

  /** Returns true while nothing may be sent. */
  isPaused(nowMs: number): boolean {
    return nowMs < this.#pausedUntilMs;
  }

  /** Returns true while the message repeats a failed score and has to wait for the delivery of another one. */
  hasToWait([first]: Message, nowMs: number): boolean {
    return nowMs < this.#repeatsWaitUntilMs && first !== undefined && this.#countFailures(first) > 0;
  }

  /** Groups the scores that are due into messages, the least recently tried first. */
  plan(pending: readonly PendingExport[], nowMs: number): Message[] {
    const turn = (each: PendingExport) => this.#tries.get(joinExportKey(each))?.triedAt ?? 0;
    const ordered = pending.toSorted((a, b) => turn(a) - turn(b));
    const probes = this.isDown ? ordered.splice(0, 1) : [];
    const due = ordered.filter((each) => (this.#tries.get(joinExportKey(each))?.notBeforeMs ?? 0) <= nowMs);
    return [...probes.map((each) => [each]), ...this.#group(due)];
  }

  #group(due: readonly PendingExport[]): Message[] {
    const messages: PendingExport[][] = [];
    let limit = 0;
    for (const each of due) {
      const largest = this.#tries.get(joinExportKey(each))?.largestMessage ?? this.#settings.maxBatch;
      const last = messages.at(-1);
      if (last === undefined || largest !== limit || last.length >= limit) {
        messages.push([each]);
        limit = largest;
      } else {
        last.push(each);
      }
    }
    return messages;
  }

  /** Notes the outcome of a message. Returns the messages to send instead of it: its halves. */
  conclude(message: Message, outcome: Outcome, nowMs: number): Message[] {
    this.#messages += 1;
    if (outcome.kind === 'delivered') {
      this.#noteDelivery(message);
      return [];
    }
    if (outcome.kind === 'unknown') {
      this.#noteUnknown(message, outcome.error, nowMs);
      return [];
    }
    if (outcome.kind === 'impossible') {
      for (const each of message) {
        this.#touch(each, outcome.error).attempts = this.#settings.attempts;
      }
      return [];
    }
    const isRepeat = message.some((each) => this.#countFailures(each) > 0);
    for (const each of message) {
      this.#touch(each, outcome.error);
    }
    if (outcome.kind === 'away' || this.isDown) {
      this.#pause(outcome.error, nowMs);
      return [];
    }
    const [first] = message;
    if (message.length === 1 && first !== undefined) {
      this.#noteSingleFailure(first, outcome, nowMs);
    }
    this.#noteFailure(isRepeat, outcome.error, nowMs);
    return this.#halve(message);
  }

  listSpent() {
    return [...this.#tries.values()].filter(({ attempts }) => attempts >= this.#settings.attempts);
  }

  forgetAllBut(pending: readonly PendingExport[]): void {
    const known = new Set(pending.map(joinExportKey));
    for (const { pending: each } of this.#tries.values()) {
      if (!known.has(joinExportKey(each))) {
        this.forget(each);
      }
    }
  }

  forget(each: PendingExport): void {
    this.#tries.delete(joinExportKey(each));
    this.#suspects.delete(joinExportKey(each));
  }

  #countFailures(each: PendingExport): number {
    return this.#tries.get(joinExportKey(each))?.failures ?? 0;
  }

  #touch(pending: PendingExport, error: AppError): Tries {
    const key = joinExportKey(pending);
    const tries: Tries = this.#tries.get(key) ?? {
      pending,
      failures: 0,
      attempts: 0,
      notBeforeMs: 0,
      triedAt: 0,
      largestMessage: this.#settings.maxBatch,
      error,
    };
    tries.triedAt = this.#messages;
    tries.error = error;
    this.#tries.set(key, tries);
    return tries;
  }

  /** The receiver is there, so the failures since the last delivery were of their scores, unless it was down for all. */
  #noteDelivery(message: Message): void {
    for (const each of message) {
      this.forget(each);
    }
    if (!this.isDown) {
      for (const [key, isCounted] of this.#suspects) {
        const tries = this.#tries.get(key);
        if (tries !== undefined && !isCounted) {
          tries.attempts += 1;
        }
      }
    }
    this.#suspects.clear();
    this.#failedFirsts = 0;
    this.#failedRepeats = 0;
    this.#repeatsWaitUntilMs = 0;
    this.#failuresWhileDown = 0;
    this.#pausedUntilMs = 0;
  }

  /** The receiver is there, and only these scores wait for their traces. */
  #noteUnknown(message: Message, error: AppError, nowMs: number): void {
    this.#noteDelivery([]);
    for (const each of message) {
      const tries = this.#touch(each, error);
      tries.failures += 1;
      tries.notBeforeMs = nowMs + this.#backoffMs(tries.failures, error);
      tries.unknownSinceMs ??= nowMs;
      if (nowMs - tries.unknownSinceMs >= (this.#settings.unknownForMs ?? 0)) {
        tries.attempts = this.#settings.attempts;
      }
    }
  }

  #noteSingleFailure(pending: PendingExport, { kind, error }: Failure, nowMs: number): void {
    const tries = this.#touch(pending, error);
    tries.failures += 1;
    tries.notBeforeMs = nowMs + this.#backoffMs(tries.failures, error);
    const key = joinExportKey(pending);
    const isAlone = [...this.#suspects.keys()].every((other) => other === key);
    const isCounted = kind === 'refused' && isAlone;
    tries.attempts += isCounted ? 1 : 0;
    if (this.#suspects.size < MAX_SUSPECTS) {
      this.#suspects.set(key, isCounted);
    }
  }

  #noteFailure(isRepeat: boolean, error: AppError, nowMs: number): void {
    if (isRepeat) {
      this.#failedRepeats += 1;
      if (this.#failedRepeats >= REPEATS_WAIT_AFTER) {
        this.#repeatsWaitUntilMs = nowMs + this.#backoffMs(this.#failedRepeats - 1, error);
      }
      return;
    }
    this.#failedFirsts += 1;
    if (this.#failedFirsts >= DOWN_AFTER) {
      this.#pause(error, nowMs);
    }
  }

  #halve(message: Message): Message[] {
    if (message.length === 1) {
      return [];
    }
    const middle = Math.ceil(message.length / 2);
    for (const each of message) {
      const tries = this.#tries.get(joinExportKey(each));
      if (tries !== undefined) {
        tries.largestMessage = middle;
      }
    }
    return [message.slice(0, middle), message.slice(middle)];
  }

  #pause(error: AppError, nowMs: number): void {
    if (this.isPaused(nowMs)) {
      // This message was sent together with one that failed before: the receiver has failed once.
      return;
    }
    this.#failuresWhileDown += 1;
    this.#pausedUntilMs = nowMs + this.#backoffMs(this.#failuresWhileDown, error);
  }

  #backoffMs(failures: number, { retryAfterMs = 0 }: AppError): number {
    return Math.max(backoffMs(failures, this.#settings), Math.min(retryAfterMs, this.#settings.maxRetryMs));
  }
}

/** Identifies a revision of a score, or its deletion. */
export function joinExportKey({
  scoreId,
  revision,
  isDeleted,
}: Pick<PendingExport, 'scoreId' | 'revision' | 'isDeleted'>): string {
  return `${scoreId}.${revision}${isDeleted ? '.deleted' : ''}`;
}
