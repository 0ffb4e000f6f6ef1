import { readErrorMessage, type AppError } from '../../domain/errors.ts';
import { computeBackoffMs } from '../attempt/attempt-failure.ts';
import type { RetrySchedule } from './retries.ts';
import { listNextAttempts } from '../score-traces.ts';
import { mergeItems, type WorkItem, type SlotAdmission, type WorkQueue } from './queue.ts';
import type { Timers } from '../../domain/waits.ts';
import { readStoreClock } from './timers.ts';
import type { Scoring } from '../scoring.ts';
import type { TraceOutcome } from '../trace-task.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';

/** Most traces of one batch of look-ups and reads. */
const MAX_BATCH = 200;

/** Most traces whose failures in a row are counted. */
const MAX_TRACKED_FAILURES = 10_000;

/** Parts of the loop that its workers use. */
interface WorkersDeps {
  /** Scores traces. Calls `onOutcome` for each trace as soon as it is done. Throws when the store cannot be read. */
  readonly score: (
    items: readonly WorkItem[],
    onOutcome: (outcome: TraceOutcome) => void,
  ) => Promise<unknown>;
  readonly queue: WorkQueue;
  readonly admission: SlotAdmission;
  readonly retries: RetrySchedule;
  readonly timers: Timers;
  /** Stops the start of new batches. */
  readonly stopping: AbortSignal;
}

/**
 * Scores the traces of the queue in parallel batches. A trace that waits for a slot of its judge stays under way; when too many
 * wait, the judged scorers of further traces are left for later, and only their trace ids stay in memory.
 */
export class Workers {
  readonly #context: Scoring;
  readonly #deps: WorkersDeps;
  readonly #running = new Set<Promise<void>>();
  readonly #failures = new Map<string, number>();
  readonly #batch: number;
  readonly #watched = new WeakSet<Scoring['judgeSlots']>();
  #hasStarted = false;

  constructor(context: Scoring, deps: WorkersDeps) {
    this.#context = context;
    this.#deps = deps;
    this.#batch = Math.max(1, Math.min(MAX_BATCH, Math.floor(context.maxTracesInMemory / 4)));
    this.watch(context);
  }

  /** Starts further batches when the slots of judges run low. */
  watch({ judgeSlots }: Pick<Scoring, 'judgeSlots'>): void {
    if (!this.#watched.has(judgeSlots)) {
      this.#watched.add(judgeSlots);
      judgeSlots.onLow(() => this.#pump());
    }
  }

  /** Starts batches up to the limit, and again after outcomes, until the queue is empty. */
  start(): void {
    this.#hasStarted = true;
    this.#pump();
  }

  #pump(): void {
    const { queue, admission, stopping } = this.#deps;
    if (!this.#hasStarted || stopping.aborted) {
      return;
    }
    this.#startBatch(admission.takeReserved(this.#batch));
    while (this.#hasRoom()) {
      this.#startBatch(queue.take(this.#batch));
    }
  }

  /** Returns true when the ready traces fit, or at least a whole batch: look-ups cost the store the same for one trace and for a batch. */
  #hasRoom(): boolean {
    const { queue } = this.#deps;
    const free = this.#context.maxTracesInMemory - queue.inFlight();
    return queue.ready() > 0 && free >= Math.min(this.#batch, queue.ready());
  }

  #startBatch(items: readonly WorkItem[]): void {
    if (items.length === 0) {
      return;
    }
    const batch = this.#work(items).finally(() => {
      this.#running.delete(batch);
      this.#pump();
    });
    this.#running.add(batch);
  }

  /** Waits for the batches under way. After `graceMs` aborts them and waits for their end. */
  async finish(graceMs: number, abandoning: AbortController): Promise<void> {
    const over = new AbortController();
    const grace = this.#deps.timers.sleep(graceMs, over.signal).then(() => abandoning.abort());
    await Promise.allSettled(this.#running);
    over.abort();
    await grace;
  }

  /** Scores one batch. Each trace frees its place as soon as it is done, so a trace that waits for its judge keeps only one. */
  async #work(items: readonly WorkItem[]): Promise<void> {
    const open = new Map(items.map((item) => [joinTraceKey(item), item]));
    try {
      const clock = await readStoreClock(this.#context.stores.spans, this.#context.monotonicMs);
      await this.#deps.score(items, (outcome) => {
        const item = open.get(joinTraceKey(outcome.key));
        if (item !== undefined) {
          open.delete(joinTraceKey(item));
          item.reservation?.release();
          this.#settle(outcome, item, clock.nowMs());
          this.#deps.queue.done([item]);
          this.#pump();
        }
      });
    } catch (error) {
      this.#context.log.warn('a batch of traces could not be scored, it is tried again', {
        traces: open.size,
        error: readErrorMessage(error),
      });
      await this.#retryAll([...open.values()]);
    } finally {
      open.forEach(({ reservation }) => reservation?.release());
      this.#deps.queue.done([...open.values()]);
    }
  }

  #settle(outcome: TraceOutcome, done: WorkItem, nowMs: number): void {
    const { retries } = this.#deps;
    const item = mergeItems(undefined, done);
    const name = joinTraceKey(item);
    if (outcome.error !== null) {
      const attempts = (this.#failures.get(name) ?? 0) + 1;
      if (this.#failures.size < MAX_TRACKED_FAILURES) {
        this.#failures.set(name, attempts);
      }
      this.#report(outcome.error, item);
      const { retryAfterMs } = outcome.error;
      retries.add(item, nowMs + computeBackoffMs(attempts, retryAfterMs, this.#context.random()));
      return;
    }
    this.#failures.delete(name);
    if (outcome.waiting.length > 0) {
      this.#deps.queue.leave(item, outcome.waiting);
    }
    if (outcome.waitUntilMs !== null) {
      retries.add({ ...item, readyAtMs: undefined }, outcome.waitUntilMs);
    }
    const rows = [...outcome.decisions, ...outcome.postponed];
    listNextAttempts(rows).forEach(({ key, atMs }) => retries.add(key, atMs));
  }

  #report(error: AppError, item: WorkItem): void {
    const fields = { traceId: item.traceId, error: error.message };
    if (error.code === 'cancelled') {
      this.#context.log.debug('a trace was left undecided', fields);
    } else {
      this.#context.log.warn('a trace could not be scored, it is tried again', fields);
    }
  }

  /** Waits by the local clock, because the store does not answer, then makes the traces due at once. */
  async #retryAll(items: readonly WorkItem[]): Promise<void> {
    const { timers, stopping, retries } = this.#deps;
    await timers.sleep(computeBackoffMs(1, undefined, this.#context.random()), stopping);
    items.forEach((item) => retries.add(item, 0));
  }
}
