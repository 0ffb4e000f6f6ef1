import type { Admission, Room, RunStock, StockEnd } from '../attempt/run-stock.ts';
import type { WorkItem } from '../score-traces.ts';
import type { WorkQueue } from './work-queue.ts';

/** Admission of runs to their stocks, and the filling of stocks that ran low. */
export interface StockAdmission extends Admission {
  /** Takes traces that wait for room out of the queue, from both ends of the backlog, and sets room aside for them. */
  takeForRoom(limit: number): WorkItem[];
}

interface AdmissionOptions {
  /** Share of the room for the newest traces, 0 to 1. */
  readonly newestShare: number;
  /** Most runs of one stock. */
  readonly maxRuns: number;
  /** Returns false while the content of the runs that wait fills the memory of the stock: then no run has room. */
  readonly hasMemory: (stock: RunStock) => boolean;
}

export function createStockAdmission(queue: WorkQueue, options: AdmissionOptions): StockAdmission {
  return new LiveAdmission(queue, options);
}

/**
 * Without a backlog a run may use all room of its stock. With a backlog, runs of traces that are ready now may use the share of the
 * newest; the rest of the room is for the backlog.
 */
class LiveAdmission implements StockAdmission {
  readonly #queue: WorkQueue;
  readonly #shares: Readonly<Record<StockEnd, number>>;
  readonly #maxRuns: number;
  readonly #hasMemory: (stock: RunStock) => boolean;
  /** Runs that have room and are not in the stock yet. */
  readonly #reserved = new Map<RunStock, Record<StockEnd, number>>();

  constructor(queue: WorkQueue, { newestShare, maxRuns, hasMemory }: AdmissionOptions) {
    this.#queue = queue;
    this.#shares = { newest: newestShare, oldest: 1 - newestShare };
    this.#maxRuns = maxRuns;
    this.#hasMemory = hasMemory;
  }

  admit(stock: RunStock, runs: number): Room | null {
    if (!this.#hasMemory(stock)) {
      return null;
    }
    const high = Math.min(stock.high, this.#maxRuns);
    if (this.#queue.left(stock) > 0) {
      return this.#countRuns(stock, 'newest') < high * this.#shares.newest
        ? this.#reserve(stock, 'newest', runs)
        : null;
    }
    // When a backlog follows, its traces are newer than this one.
    const count = this.#countRuns(stock, 'newest') + this.#countRuns(stock, 'oldest');
    return count < high ? this.#reserve(stock, 'oldest', runs) : null;
  }

  takeForRoom(limit: number): WorkItem[] {
    return this.#queue.awaitedStocks().flatMap((stock) => {
      if (!this.#hasMemory(stock)) {
        return [];
      }
      const refills = this.#listRefills(stock);
      if (!refills.some(({ count, from }) => count < from)) {
        return [];
      }
      // Both ends in one batch: look-ups cost the store the same for one trace and for many.
      return refills.flatMap(({ end, count, to }) =>
        this.#queue
          .takeLeft(stock, { end, limit, runs: Math.ceil(to - count) })
          .map(({ item, runs }) => ({ ...item, room: this.#reserve(stock, end, runs) })),
      );
    });
  }

  /** Lists the runs of both ends, below which number they are refilled, and up to which. */
  #listRefills(stock: RunStock) {
    const low = Math.min(stock.low, this.#maxRuns);
    const high = Math.min(stock.high, this.#maxRuns);
    return (['oldest', 'newest'] as const).map((end) => {
      const share = this.#shares[end];
      const count = this.#countRuns(stock, end);
      // The newest end keeps room for traces that are ready soon.
      return end === 'oldest'
        ? { end, count, from: low * share, to: high * share }
        : { end, count, from: (low / 2) * share, to: ((low + high) / 2) * share };
    });
  }

  #countRuns(stock: RunStock, end: StockEnd): number {
    return stock.pending(end) + (this.#reserved.get(stock)?.[end] ?? 0);
  }

  #reserve(stock: RunStock, end: StockEnd, runs: number): Room {
    const reserved = this.#reserved.get(stock) ?? { newest: 0, oldest: 0 };
    this.#reserved.set(stock, reserved);
    reserved[end] += runs;
    let open = runs;
    return {
      stock,
      end,
      release() {
        reserved[end] -= open;
        open = 0;
      },
    };
  }
}
