import { StoreUnavailableError } from '../src/domain/errors.ts';
import type { IngestTable } from '../src/store/contracts/rows.ts';
import type { BlockInserter, PieceOutcome, SentPiece, Origin } from './block-inserter.ts';
import type { CollectorLimits } from './limits.ts';
import { overloadedError } from './memory-limiter.ts';
import type { RowPiece } from './otlp/row-pieces.ts';

interface BatcherDependencies {
  readonly inserter: Pick<BlockInserter, 'insert'>;
  readonly limits: CollectorLimits;
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number;
}

/** Piece of a request that waits for its insert. */
interface Entry extends SentPiece {
  readonly settle: (outcome: PieceOutcome) => void;
}

/** Rows of a request that are left out. The sender need not send them again. */
interface LeftOut {
  /** Rows that the store refused. They are stored as dead letters with their bytes. */
  readonly setAside: number;
  /** Rows of purged traces. They are nowhere. */
  readonly purged: number;
  readonly reasons: readonly string[];
}

interface Batch {
  readonly table: IngestTable;
  readonly entries: Entry[];
  rows: number;
  bytes: number;
  readonly openedMs: number;
  /** True once the batch has waited long enough, and once it has waited long enough for another insert to end. */
  due: boolean;
  overdue: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Joins the rows of many requests into few inserts. `add` resolves once all of its rows are durable or set aside. */
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

  /** Rejects with a retryable error when the rows are not stored, or may not be. */
  async add(table: IngestTable, pieces: readonly RowPiece[], origin: Origin): Promise<LeftOut> {
    const { maxInFlightBytes, maxQueueMs, retryAfterMs } = this.#deps.limits;
    const bytes = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
    if (this.#draining) {
      throw new StoreUnavailableError('the collector is shutting down; send again later', { retryAfterMs });
    }
    if (this.#pendingBytes + bytes > maxInFlightBytes || this.#waitedMs() > maxQueueMs) {
      throw overloadedError('too many rows wait for the store; send again later', retryAfterMs);
    }
    this.#pendingBytes += bytes;
    const outcomes = await Promise.all(pieces.map((piece) => this.#enqueue(table, { piece, origin })));
    this.#pendingBytes -= bytes;
    const errors = outcomes.flatMap(({ error }) => error ?? []);
    const failed = errors.find((error) => error.retryable) ?? errors[0];
    if (failed !== undefined) {
      throw failed;
    }
    return {
      setAside: outcomes.reduce((sum, { setAside }) => sum + setAside, 0),
      purged: outcomes.reduce((sum, { purged }) => sum + purged, 0),
      reasons: outcomes.flatMap(({ reasons }) => reasons),
    };
  }

  /** Sends the waiting rows at once. Resolves when every insert has ended. From now on `add` refuses rows. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const batch of this.#open.values()) {
      this.#makeOverdue(batch);
    }
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
    }
  }

  /**
   * Returns the wait of the oldest batch, milliseconds. Above the limit no request is accepted, because senders would give
   * up while their rows wait.
   */
  #waitedMs(): number {
    const [first = [...this.#open.values()][0]] = this.#full;
    return first === undefined ? 0 : this.#deps.nowMs() - first.openedMs;
  }

  #enqueue(table: IngestTable, sent: SentPiece): Promise<PieceOutcome> {
    const { piece } = sent;
    const { batchRows, batchBytes } = this.#deps.limits;
    return new Promise((settle) => {
      let batch = this.#open.get(table);
      if (batch && (batch.rows + piece.rows > batchRows || batch.bytes + piece.bytes.length > batchBytes)) {
        this.#close(batch);
        batch = undefined;
      }
      batch ??= this.#openBatch(table);
      batch.entries.push({ ...sent, settle });
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
      overdue: false,
      timer: undefined,
    };
    batch.timer = setTimeout(() => this.#makeDue(batch), this.#deps.limits.batchAgeMs);
    this.#open.set(table, batch);
    return batch;
  }

  #makeDue(batch: Batch): void {
    const { batchAgeMs, besideAgeMs } = this.#deps.limits;
    batch.due = true;
    batch.timer = setTimeout(() => this.#makeOverdue(batch), besideAgeMs - batchAgeMs);
    this.#pump();
  }

  #makeOverdue(batch: Batch): void {
    batch.overdue = true;
    this.#pump();
  }

  #close(batch: Batch): void {
    clearTimeout(batch.timer);
    this.#open.delete(batch.table);
    this.#full.push(batch);
  }

  /**
   * Starts inserts while there is room. A batch that is due but finds no room keeps growing. While another insert runs, it also grows
   * for a while: a row costs the store less in a larger block.
   */
  #pump(): void {
    while (this.#running.size < this.#deps.limits.maxInserts) {
      const isAlone = this.#running.size === 0;
      const isDue = (batch: Batch) => batch.overdue || (batch.due && isAlone);
      const due = this.#full.length > 0 ? undefined : [...this.#open.values()].find(isDue);
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

  async #insertBatch({ table, entries }: Batch): Promise<void> {
    const outcomes = await this.#deps.inserter.insert(table, entries);
    for (const [index, outcome] of outcomes.entries()) {
      entries[index]?.settle(outcome);
    }
  }
}
