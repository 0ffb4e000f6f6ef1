import pRetry from 'p-retry';
import { AppError, messageOf, StoreUnavailableError } from '../src/domain/errors.ts';
import type { IngestTable } from '../src/store/contracts/columns.ts';
import type { RowBlock, SpanSink } from '../src/store/contracts/span-sink.ts';
import type { Log } from '../src/telemetry/log.ts';
import type { Counter } from './counts.ts';
import type { CollectorLimits } from './limits.ts';
import { overloadedError } from './memory-limiter.ts';
import type { RowPiece } from './otlp/row-pieces.ts';

const FIRST_RETRY_MS = 100;
const RETRY_FACTOR = 3;

export interface BatcherDependencies {
  readonly sink: SpanSink;
  readonly limits: CollectorLimits;
  readonly log: Log;
  readonly counter: Counter;
  /** A new name for a block, never given before. */
  readonly newToken: () => string;
  /** A clock that never goes back, milliseconds. */
  readonly nowMs: () => number;
}

/** A piece of a request that waits for its insert. */
interface Entry {
  readonly piece: RowPiece;
  readonly settle: (error: AppError | undefined) => void;
}

interface Batch {
  readonly table: IngestTable;
  readonly entries: Entry[];
  rows: number;
  bytes: number;
  readonly openedMs: number;
  /** Set once the batch has waited long enough. */
  due: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Joins the rows of many requests into few inserts. `add` resolves once all rows given to it are durable. An insert that
 * fails for now is repeated with the same block and token; one that is refused is repeated piece by piece, so that a bad
 * request never fails its neighbours.
 */
export class Batcher {
  readonly #deps: BatcherDependencies;
  readonly #open = new Map<IngestTable, Batch>();
  readonly #full: Batch[] = [];
  readonly #running = new Set<Promise<void>>();
  #pendingBytes = 0;
  #draining = false;

  constructor(deps: BatcherDependencies) {
    this.#deps = deps;
  }

  /** Row bytes that wait or are being inserted. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get insertsRunning(): number {
    return this.#running.size;
  }

  /** Rejects with a retryable error when the rows are (or may be) not stored, else with a `StoreRejectedError`. */
  async add(table: IngestTable, pieces: readonly RowPiece[]): Promise<void> {
    const { maxInFlightBytes, maxQueueMs, retryAfterMs } = this.#deps.limits;
    const bytes = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
    if (this.#draining) {
      throw new StoreUnavailableError('the collector is shutting down; send again later', { retryAfterMs });
    }
    if (this.#pendingBytes + bytes > maxInFlightBytes || this.#waitedMs() > maxQueueMs) {
      throw overloadedError('too many rows wait for the store; send again later', retryAfterMs);
    }
    this.#pendingBytes += bytes;
    const errors = await Promise.all(pieces.map((piece) => this.#enqueue(table, piece)));
    this.#pendingBytes -= bytes;
    const failed = errors.find((error) => error?.retryable === true) ?? errors.find((error) => error);
    if (failed !== undefined) {
      throw failed;
    }
  }

  /** Sends what waits at once and resolves when every insert has ended. `add` is refused from now on. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const batch of this.#open.values()) {
      this.#makeDue(batch);
    }
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
    }
  }

  /** How long the first waiting batch has waited. Were more taken in then, senders would give up while their rows wait. */
  #waitedMs(): number {
    const [first = [...this.#open.values()][0]] = this.#full;
    return first === undefined ? 0 : this.#deps.nowMs() - first.openedMs;
  }

  #enqueue(table: IngestTable, piece: RowPiece): Promise<AppError | undefined> {
    const { batchRows, batchBytes } = this.#deps.limits;
    return new Promise((settle) => {
      let batch = this.#open.get(table);
      if (batch && (batch.rows + piece.rows > batchRows || batch.bytes + piece.bytes.length > batchBytes)) {
        this.#close(batch);
        batch = undefined;
      }
      batch ??= this.#openBatch(table);
      batch.entries.push({ piece, settle });
      batch.rows += piece.rows;
      batch.bytes += piece.bytes.length;
      if (batch.rows >= batchRows || batch.bytes >= batchBytes) {
        this.#close(batch);
      }
      this.#pump();
    });
  }

  #openBatch(table: IngestTable): Batch {
    const batch: Batch = {
      table,
      entries: [],
      rows: 0,
      bytes: 0,
      openedMs: this.#deps.nowMs(),
      due: false,
      timer: undefined,
    };
    batch.timer = setTimeout(() => this.#makeDue(batch), this.#deps.limits.batchAgeMs);
    this.#open.set(table, batch);
    return batch;
  }

  #makeDue(batch: Batch): void {
    batch.due = true;
    this.#pump();
  }

  #close(batch: Batch): void {
    clearTimeout(batch.timer);
    this.#open.delete(batch.table);
    this.#full.push(batch);
  }

  /** Starts inserts while there is room. A batch that is due but finds no room goes on growing. */
  #pump(): void {
    while (this.#running.size < this.#deps.limits.maxInserts) {
      const due = this.#full.length > 0 ? undefined : [...this.#open.values()].find((batch) => batch.due);
      if (due !== undefined) {
        this.#close(due);
      }
      const batch = this.#full.shift();
      if (batch === undefined) {
        return;
      }
      const run = this.#insertBatch(batch).finally(() => {
        this.#running.delete(run);
        this.#pump();
      });
      this.#running.add(run);
    }
  }

  async #insertBatch(batch: Batch): Promise<void> {
    const outcome = await this.#insert(batch.table, batch.entries);
    if (outcome?.code !== 'store_rejected') {
      settleAll(batch.entries, outcome);
      return;
    }
    if (batch.entries.length === 1) {
      settleAll(batch.entries, this.#wholeBatchRefused(outcome));
      return;
    }
    const outcomes: (AppError | undefined)[] = [];
    for (const entry of batch.entries) {
      outcomes.push(await this.#insert(batch.table, [entry]));
    }
    const noneTaken = outcomes.every((each) => each?.code === 'store_rejected');
    batch.entries.forEach((entry, i) => {
      entry.settle(noneTaken ? this.#wholeBatchRefused(outcome) : outcomes[i]);
    });
  }

  /** Returns what went wrong, after all retries. */
  async #insert(table: IngestTable, entries: readonly Entry[]): Promise<AppError | undefined> {
    const { counter, limits, log, newToken, sink } = this.#deps;
    const block: RowBlock = {
      table,
      rows: entries.reduce((sum, { piece }) => sum + piece.rows, 0),
      chunks: entries.map(({ piece }) => piece.bytes),
    };
    const token = newToken();
    counter.add('inserts');
    try {
      await pRetry(
        (attempt) => {
          counter.add('insert_retries', attempt > 1 ? 1 : 0);
          return sink.insert(block, token);
        },
        {
          retries: limits.insertRetries,
          minTimeout: FIRST_RETRY_MS,
          factor: RETRY_FACTOR,
          maxRetryTime: limits.patienceMs,
          shouldRetry: ({ error }) => error instanceof StoreUnavailableError,
        },
      );
      return undefined;
    } catch (error) {
      const failure = asAppError(error);
      counter.add('insert_failures', 1, failure.code);
      log.warn('insert failed', { table, rows: block.rows, token, code: failure.code, error });
      return failure;
    }
  }

  /**
   * When the store takes nothing at all, its tables are more likely wrong (a missing column) than every sender's rows:
   * the senders keep the data and try again.
   */
  #wholeBatchRefused(refusal: AppError): AppError {
    const { log, limits } = this.#deps;
    log.error('the store refuses every row of a batch: check its tables with the migrate command', {
      error: refusal,
    });
    return new StoreUnavailableError(`the store refuses every row: ${refusal.message}`, {
      cause: refusal,
      retryAfterMs: limits.retryAfterMs,
    });
  }
}

function settleAll(entries: readonly Entry[], error: AppError | undefined): void {
  for (const entry of entries) {
    entry.settle(error);
  }
}

function asAppError(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }
  return new AppError(`an insert failed unexpectedly: ${messageOf(error)}`, {
    code: 'bug',
    stage: 'store',
    retryable: false,
    cause: error,
  });
}
