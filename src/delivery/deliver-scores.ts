import { v5 as uuidv5 } from 'uuid';
import type { Score } from '../domain/score.ts';
import type { DeadLetterSink } from '../store/contracts/dead-letters.ts';
import type { ExportPage, ExportResult, PendingExport } from '../store/contracts/score-feed.ts';
import type { ScoreFeed } from '../store/scores/exports.ts';
import type { Log } from '../telemetry/log.ts';
import { AttemptBook, joinExportKey, type Message } from './attempt-book.ts';
import {
  buildDeadLetter,
  type CountsByReceiver,
  type Delivery,
  type DeliveryLoop,
  type EpochTerms,
  EXPORTER_NAMES,
  type LoopTimes,
  type Outcome,
  type ReceiverDuties,
  type RetryTimes,
  startDelivery,
} from './deliver.ts';
import type { ScoreExporter } from './exporters/exporter.ts';

/** Times of the delivery of scores, milliseconds. */
type ScoreTimes = LoopTimes & Omit<RetryTimes, 'random'>;

const TIMES: ScoreTimes = { intervalMs: 1_000, firstRetryMs: 1_000, maxRetryMs: 60_000, drainMs: 5_000 };

export interface ScoreDeliveryDeps {
  readonly feed: ScoreFeed;
  readonly deadLetters: DeadLetterSink;
  readonly duties: ReceiverDuties;
  readonly log: Log;
  /** Random number in [0, 1). */
  readonly random: () => number;
  readonly countsByReceiver?: CountsByReceiver | undefined;
}

/** Registers the exporters and starts to send the scores that are written from now on. Throws when the store does. */
export async function startScoreDelivery(
  exporters: readonly ScoreExporter[],
  times: Partial<ScoreTimes>,
  deps: ScoreDeliveryDeps,
): Promise<DeliveryLoop> {
  const settings = { ...TIMES, ...times };
  await Promise.all(exporters.map(({ name }) => deps.feed.register(name)));
  const tasks = exporters.map((exporter) => ({
    name: exporter.name,
    begin: (terms: EpochTerms) => new ScoreDelivery(exporter, settings, { ...deps, ...terms }),
  }));
  return startDelivery(tasks, settings, EXPORTER_NAMES, deps);
}

export const SCORE_SIGNAL = 'scores';

/** Namespace of the ids of dead scores. It must never change. */
const NAMESPACE = 'a3c2c9f4-6f0e-4f4c-9a52-0d7d3a4f9b61';

/** Reads the revision that sends a dead score again, in the next round. Throws for bytes that are no dead score. */
export function revivedScore(body: Uint8Array): Pick<PendingExport, 'scoreId' | 'revision' | 'round'> {
  const { round, score } = JSON.parse(Buffer.from(body).toString('utf8')) as { round: number; score: Score };
  return { scoreId: score.scoreId, revision: score.revision, round: round + 1 };
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

class ScoreDelivery implements Delivery {
  readonly #exporter: ScoreExporter;
  readonly #deps: ScoreDeliveryDeps & EpochTerms;
  readonly #book: AttemptBook;
  /** Results of deliveries that are not recorded yet. They are recorded before anything else is read. */
  #unrecorded: ExportResult[] = [];
  #recordedAtMs = 0;
  #rows = new Map<string, Score>();
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(exporter: ScoreExporter, times: ScoreTimes, deps: ScoreDeliveryDeps & EpochTerms) {
    const { maxBatch, attempts, unknownForMs } = exporter;
    this.#exporter = exporter;
    this.#deps = deps;
    this.#book = new AttemptBook({ maxBatch, attempts, unknownForMs, ...times, random: deps.random });
  }

  get isDown(): boolean {
    return this.#book.isDown;
  }

  async pass(): Promise<boolean> {
    const { feed, giveUp } = this.#deps;
    await this.#record();
    if (this.#book.isPaused(performance.now())) {
      return false;
    }
    const page = await feed.readPending(
      this.#exporter.name,
      PAGE + this.#book.size,
      this.#exporter.hasDeletions === true,
    );
    // Rows of the last pass may be deleted by now.
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    this.#book.forgetAllBut(page.pending);
    const settled = new Set<string>();
    const queue = this.#book.plan(page.pending, performance.now());
    for (let at = 0; at < queue.length && !giveUp.aborted && !this.#book.isPaused(performance.now());) {
      // A receiver that is down gets one message, which finds out whether it is back.
      const count = this.#book.isDown ? 1 : (this.#exporter.atOnce ?? 1);
      const messages = queue
        .slice(at, at + count)
        .map((message) => message.filter((each) => !settled.has(joinExportKey(each))))
        .filter((message) => !this.#book.hasToWait(message, performance.now()));
      at += count;
      queue.push(...(await this.#send(messages, queue.slice(at, at + READ_AHEAD).flat())));
      await this.#setSpentAside();
      for (const each of this.#unrecorded) {
        settled.add(joinExportKey(each));
      }
      if (performance.now() - this.#recordedAtMs >= RECORD_EVERY_MS) {
        await this.#record();
      }
    }
    await this.#record();
    this.#deps.counts.waiting = page.pending.length - settled.size;
    await this.#advance(page, settled);
    return !page.isWhole && settled.size > 0;
  }

  /** Sends the current rows of messages at the same time. Returns the messages to send instead of those that failed. */
  async #send(messages: readonly Message[], next: Message): Promise<Message[]> {
    const { giveUp, checkDuty } = this.#deps;
    const rows = await this.#readRows(messages.flat(), next);
    const isCurrent = (each: PendingExport) => rows.has(joinExportKey(each));
    this.#settle(
      messages.flat().filter((each) => !isCurrent(each)),
      'withdrawn',
    );
    const current = messages.map((message) => message.filter(isCurrent)).filter(({ length }) => length > 0);
    if (current.length === 0) {
      return [];
    }
    await checkDuty();
    const outcomes = await Promise.all(
      current.map((message) => {
        const scores = message.flatMap((each) => rows.get(joinExportKey(each)) ?? []);
        return this.#exporter.send(scores, giveUp);
      }),
    );
    return outcomes.flatMap((outcome, at) => this.#conclude(current[at] ?? [], outcome, rows));
  }

  /** Notes the outcome of a message. Returns the messages to send instead of it. */
  #conclude(message: Message, outcome: Outcome, rows: ReadonlyMap<string, Score>): Message[] {
    const { counts, log, giveUp } = this.#deps;
    if (outcome.kind === 'delivered') {
      const count = outcome.isSkipped === true ? 'skipped' : 'delivered';
      counts[count] = (counts[count] ?? 0) + message.length;
      counts.lastError = undefined;
      this.#settle(message, 'delivered', rows);
    } else if (giveUp.aborted) {
      log.warn('scores were being sent when their exporter stopped: they are sent again', {
        exporter: this.#exporter.name,
        count: message.length,
      });
      return [];
    } else {
      counts.failures += 1;
      counts.lastError = outcome.error.message;
      log.warn('scores could not be exported, trying again', {
        exporter: this.#exporter.name,
        count: message.length,
        firstScoreId: message[0]?.scoreId,
        error: outcome.error,
      });
    }
    return this.#book.conclude(message, outcome, performance.now());
  }

  /** Reads the rows of messages and some of the next ones, by their keys. */
  async #readRows(message: Message, next: Message): Promise<ReadonlyMap<string, Score>> {
    const isFresh = performance.now() - this.#readAtMs < READ_AHEAD_MS;
    if (!isFresh || !message.every((each) => this.#rows.has(joinExportKey(each)))) {
      this.#readAtMs = performance.now();
      const ahead = next.slice(0, Math.max(0, READ_AHEAD - message.length));
      this.#rows = await this.#readCurrent([...message, ...ahead]);
    }
    return this.#rows;
  }

  /** Reads the rows by the keys of what is pending. A replay is of a score or of its deletion: the row tells. */
  async #readCurrent(pending: Message): Promise<Map<string, Score>> {
    const rows = await this.#deps.feed.readCurrent(pending);
    const byId = new Map(rows.map((score) => [score.scoreId, score]));
    return new Map(
      pending.flatMap((each) => {
        const row = byId.get(each.scoreId);
        const isMeant =
          row?.revision === each.revision && (each.round > 0 || row.isDeleted === each.isDeleted);
        return isMeant ? [[joinExportKey(each), row] as const] : [];
      }),
    );
  }

  #settle(pending: Message, outcome: ExportResult['outcome'], rows?: ReadonlyMap<string, Score>): void {
    for (const each of pending) {
      const isDeleted = rows?.get(joinExportKey(each))?.isDeleted ?? each.isDeleted;
      this.#unrecorded.push({ ...each, isDeleted, outcome });
    }
  }

  async #setSpentAside(): Promise<void> {
    const spent = this.#book.listSpent();
    if (spent.length === 0) {
      return;
    }
    const { deadLetters, counts, log, checkDuty } = this.#deps;
    const source = this.#exporter.name;
    await checkDuty();
    const rows = await this.#readCurrent(spent.map(({ pending }) => pending));
    for (const { pending, attempts, error } of spent) {
      const score = rows.get(joinExportKey(pending));
      if (score !== undefined) {
        const { round, scoreId, revision } = pending;
        const what = `${scoreId} ${revision} ${round}${score.isDeleted ? ' deleted' : ''}`;
        const id = uuidv5(`${source} ${what}`, NAMESPACE);
        const facts = { id, source, tenant: score.tenant, signal: SCORE_SIGNAL, attempts };
        await deadLetters.write([buildDeadLetter(facts, error, { round, score })]);
        counts.dead += 1;
        log.error('a score was given up and set aside, see: spanscore dlq list', {
          exporter: source,
          scoreId,
          attempts,
          error,
        });
      }
      this.#book.forget(pending);
      this.#settle([pending], score === undefined ? 'withdrawn' : 'dead', rows);
    }
  }

  async #record(): Promise<void> {
    const results = this.#unrecorded;
    if (results.length > 0) {
      await this.#deps.checkDuty();
      await this.#deps.feed.record(this.#exporter.name, results);
      this.#unrecorded = [];
    }
    this.#recordedAtMs = performance.now();
  }

  async #advance(page: ExportPage, settled: ReadonlySet<string>): Promise<void> {
    const last = page.pending.at(-1);
    const known = page.isWhole || last === undefined ? page.readAtMs : last.writtenAtMs;
    const open = page.pending.filter((each) => each.round === 0 && !settled.has(joinExportKey(each)));
    const doneUntilMs = open.reduce((least, { writtenAtMs }) => Math.min(least, writtenAtMs), known);
    if (doneUntilMs - page.doneUntilMs >= ADVANCE_EVERY_MS) {
      await this.#deps.feed.advance(this.#exporter.name, doneUntilMs);
    }
  }
}
