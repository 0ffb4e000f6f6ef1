import { readErrorMessage, type AppError } from '../../domain/errors.ts';
import { computeBackoffMs } from '../attempt/backoff.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { listNextAttempts, type WorkItem } from '../score-traces.ts';
import type { LiveContext } from './live-context.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { Timers } from './timers.ts';
import { readStoreClock } from '../store-clock.ts';
import type { TraceOutcome } from '../trace-task.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { WorkQueue } from './work-queue.ts';

/** Most traces of one batch. */
const BATCH = 200;

/** Most traces under way: their runs stay in memory while judges answer. */
const MAX_IN_FLIGHT = 1_024;

/** Most traces whose failures in a row are counted. */
const MAX_TRACKED_FAILURES = 10_000;

/** Scores traces. Calls `onOutcome` for each trace as soon as it is done. Throws when the store cannot be read. */
export type ScoreBatch = (
  items: readonly WorkItem[],
  mode: ScoringMode,
  onOutcome: (outcome: TraceOutcome) => void,
) => Promise<unknown>;

export interface WorkersDeps {
  readonly score: ScoreBatch;
  readonly queue: WorkQueue;
  readonly retries: RetrySchedule;
  readonly timers: Timers;
  /** Stops the start of new batches. */
  readonly stopping: AbortSignal;
}

/** Scores the traces of the queue in parallel batches, so that a slow judge delays only its own traces. */
export class Workers {
  readonly #context: LiveContext;
  readonly #deps: WorkersDeps;
  readonly #running = new Set<Promise<void>>();
  readonly #failures = new Map<string, number>();

  constructor(context: LiveContext, deps: WorkersDeps) {
    this.#context = context;
    this.#deps = deps;
  }

  /** Starts batches up to the limit, and again after outcomes, until the queue is empty. */
  pump(mode: ScoringMode): void {
    const { queue, stopping } = this.#deps;
    while (!stopping.aborted && this.#hasRoom()) {
      const items = queue.take(BATCH);
      const batch = this.#work(items, mode).finally(() => {
        this.#running.delete(batch);
        this.pump(mode);
      });
      this.#running.add(batch);
    }
  }

  /** Returns true when the queue fits, or at least a whole batch: look-ups cost the store the same for one trace and for a batch. */
  #hasRoom(): boolean {
    const { queue } = this.#deps;
    const queued = queue.queued();
    return queued > 0 && MAX_IN_FLIGHT - queue.inFlight() >= Math.min(BATCH, queued);
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
  async #work(items: readonly WorkItem[], mode: ScoringMode): Promise<void> {
    const open = new Map(items.map((item) => [joinTraceKey(item), item]));
    try {
      const clock = await readStoreClock(this.#context.stores.spans, this.#context.monotonicMs);
      await this.#deps.score(items, mode, (outcome) => {
        const item = open.get(joinTraceKey(outcome.key));
        if (item !== undefined) {
          open.delete(joinTraceKey(item));
          this.#settle(outcome, item.reread === true, clock.nowMs());
          this.#deps.queue.done([item]);
          this.pump(mode);
        }
      });
    } catch (error) {
      this.#context.log.warn('a batch of traces could not be scored, it is tried again', {
        traces: open.size,
        error: readErrorMessage(error),
      });
      await this.#retryAll([...open.values()]);
    } finally {
      this.#deps.queue.done([...open.values()]);
    }
  }

  #settle(outcome: TraceOutcome, reread: boolean, nowMs: number): void {
    const { retries } = this.#deps;
    const item = { ...outcome.key, reread };
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
    if (outcome.waitUntilMs !== null) {
      retries.add(item, outcome.waitUntilMs);
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
