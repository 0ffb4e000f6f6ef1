import { AppError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import type { DeadLetterSink } from '../../store/contracts/dead-letters.ts';
import type { ExportPage, ExportResult, PendingExport, ScoreFeed } from '../../store/contracts/score-feed.ts';
import type { Log } from '../../telemetry/log.ts';
import { AttemptBook, joinExportKey, type Message } from './attempt-book.ts';
import { deadScore } from './dead-score.ts';
import type { ScoreExporter } from './score-exporter.ts';

/** Counts of an exporter since the start. */
export interface ExportCounts {
  delivered: number;
  /** Scores stored as dead letters. */
  dead: number;
  failedDeliveries: number;
}

export interface ExportRunDeps {
  readonly exporter: ScoreExporter;
  readonly feed: ScoreFeed;
  readonly deadLetters: DeadLetterSink;
  readonly log: Log;
  readonly counts: ExportCounts;
  /** Milliseconds of a clock that never steps. */
  readonly monotonicMs: () => number;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Throws `DutyLost` when another process may have the exporter. Throws when the store does. */
  readonly checkDuty: () => Promise<void>;
  /** Aborted when nothing more may be sent. */
  readonly giveUp: AbortSignal;
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

/** Error of work that belongs to another process now. */
export class DutyLost extends AppError {
  override readonly name = 'DutyLost';
  constructor(exporter: string) {
    super(`another process has the exporter ${exporter}`, {
      code: 'cancelled',
      stage: 'export',
      retryable: true,
    });
  }
}

/** Most scores that are read at a time, besides those that failed. */
const PAGE = 2_000;
/** Rows are read just before they are sent: at most so many, and used for so long (milliseconds). */
const READ_AHEAD = 100;
const READ_AHEAD_MS = 1_000;
/** Longest time for which results are not recorded while others are sent, milliseconds. A kill repeats their scores. */
const RECORD_EVERY_MS = 1_000;
/** Interval in which the progress is recorded, milliseconds. */
const ADVANCE_EVERY_MS = 30_000;

/** Deliveries of one exporter in one epoch: while this process has the duty without a break. */
export class ExportRun {
  readonly #deps: ExportRunDeps;
  readonly #book: AttemptBook;
  /** Results of deliveries that are not recorded yet. They are recorded before anything else is read. */
  #unrecorded: ExportResult[] = [];
  #recordedAtMs = 0;
  #rows = new Map<string, Score>();
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ExportRunDeps) {
    const { exporter, firstRetryMs, maxRetryMs, random } = deps;
    const { maxBatch, attempts } = exporter;
    this.#deps = deps;
    this.#book = new AttemptBook({ maxBatch, attempts, firstRetryMs, maxRetryMs, random });
  }

  /** Returns true while the receiver takes no score. */
  get isDown(): boolean {
    return this.#book.isDown;
  }

  /** Sends the scores that are due. Returns true when further scores are waiting. Throws `DutyLost`, and when the store does. */
  async pass(): Promise<boolean> {
    const { exporter, feed, giveUp, monotonicMs } = this.#deps;
    await this.#record();
    if (this.#book.isPaused(monotonicMs())) {
      return false;
    }
    const page = await feed.readPending(exporter.name, PAGE + this.#book.size);
    this.#book.forgetAllBut(page.pending);
    const settled = new Set<string>();
    const queue = this.#book.plan(page.pending, monotonicMs());
    for (let at = 0; at < queue.length && !giveUp.aborted; at += 1) {
      const message = (queue[at] ?? []).filter((each) => !settled.has(joinExportKey(each)));
      if (this.#book.isPaused(monotonicMs())) {
        break;
      }
      if (this.#book.hasToWait(message, monotonicMs())) {
        continue;
      }
      queue.push(...(await this.#send(message, queue.slice(at + 1, at + READ_AHEAD).flat())));
      await this.#setSpentAside();
      for (const each of this.#unrecorded) {
        settled.add(joinExportKey(each));
      }
      if (monotonicMs() - this.#recordedAtMs >= RECORD_EVERY_MS) {
        await this.#record();
      }
    }
    await this.#record();
    await this.#advance(page, settled);
    return !page.isWhole && settled.size > 0;
  }

  /** Sends the current rows of a message. Returns the messages to send instead when it failed. */
  async #send(message: Message, next: Message): Promise<Message[]> {
    const { exporter, counts, log, giveUp, monotonicMs } = this.#deps;
    const rows = await this.#readRows(message, next);
    const current = message.filter((each) => rows.has(joinExportKey(each)));
    this.#settle(
      message.filter((each) => !rows.has(joinExportKey(each))),
      'withdrawn',
    );
    if (current.length === 0) {
      return [];
    }
    await this.#deps.checkDuty();
    const scores = current.flatMap((each) => rows.get(joinExportKey(each)) ?? []);
    const outcome = await exporter.deliver(scores, giveUp);
    if (outcome.kind === 'delivered') {
      counts.delivered += current.length;
      this.#settle(current, 'delivered');
    } else if (giveUp.aborted) {
      return [];
    } else {
      counts.failedDeliveries += 1;
      log.warn('scores could not be exported, trying again', {
        exporter: exporter.name,
        count: current.length,
        firstScoreId: current[0]?.scoreId,
        error: outcome.error,
      });
    }
    return this.#book.conclude(current, outcome, monotonicMs());
  }

  /** Reads the rows of a message and some of the next ones, by their keys. */
  async #readRows(message: Message, next: Message): Promise<ReadonlyMap<string, Score>> {
    const { feed, monotonicMs } = this.#deps;
    const isFresh = monotonicMs() - this.#readAtMs < READ_AHEAD_MS;
    if (!isFresh || !message.every((each) => this.#rows.has(joinExportKey(each)))) {
      this.#readAtMs = monotonicMs();
      const ahead = next.slice(0, Math.max(0, READ_AHEAD - message.length));
      const rows = await feed.readCurrent([...message, ...ahead]);
      this.#rows = new Map(rows.map((score) => [joinExportKey(score), score]));
    }
    return this.#rows;
  }

  #settle(pending: readonly PendingExport[], outcome: ExportResult['outcome']): void {
    this.#unrecorded.push(...pending.map((each) => ({ ...each, outcome })));
  }

  async #setSpentAside(): Promise<void> {
    const spent = this.#book.listSpent();
    if (spent.length === 0) {
      return;
    }
    const { exporter, deadLetters, counts, log, checkDuty, feed } = this.#deps;
    await checkDuty();
    const rows = new Map(
      (await feed.readCurrent(spent.map(({ pending }) => pending))).map((score) => [
        joinExportKey(score),
        score,
      ]),
    );
    for (const each of spent) {
      const score = rows.get(joinExportKey(each.pending));
      if (score !== undefined) {
        await deadLetters.write([deadScore(exporter.name, score, { ...each.pending, ...each })]);
        counts.dead += 1;
        log.error('a score was given up and set aside, see: spanscore dlq list', {
          exporter: exporter.name,
          scoreId: score.scoreId,
          attempts: each.attempts,
          error: each.error,
        });
      }
      this.#book.forget(each.pending);
      this.#settle([each.pending], score === undefined ? 'withdrawn' : 'dead');
    }
  }

  async #record(): Promise<void> {
    const results = this.#unrecorded;
    if (results.length > 0) {
      await this.#deps.checkDuty();
      await this.#deps.feed.record(this.#deps.exporter.name, results);
      this.#unrecorded = [];
    }
    this.#recordedAtMs = this.#deps.monotonicMs();
  }

  async #advance(page: ExportPage, settled: ReadonlySet<string>): Promise<void> {
    const last = page.pending.at(-1);
    const known = page.isWhole || last === undefined ? page.readAtMs : last.writtenAtMs;
    const open = page.pending.filter((each) => each.round === 0 && !settled.has(joinExportKey(each)));
    const doneUntilMs = open.reduce((least, { writtenAtMs }) => Math.min(least, writtenAtMs), known);
    if (doneUntilMs - page.doneUntilMs >= ADVANCE_EVERY_MS) {
      await this.#deps.feed.advance(this.#deps.exporter.name, doneUntilMs);
    }
  }
}
