import PQueue from 'p-queue';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';

/** A trace to score. */
export interface WorkItem extends TraceKey {
  /** True when new spans came but the last arrival did not change, because an insert committed late. */
  readonly reread?: boolean | undefined;
  /** Last arrival that the tail has seen, Unix milliseconds by the store's clock. */
  readonly arrivedMs?: number | undefined;
  /** Time since which the trace could be scored, Unix milliseconds by the store's clock: the age of the waiting traces. */
  readonly readyAtMs?: number | undefined;
  /** Room for the runs that an earlier pass left. */
  readonly room?: Room | undefined;
}

/** End of a backlog: part of the places take the newest traces, so that alerts stay timely, and the rest the oldest. */
export type StockEnd = 'newest' | 'oldest';

/** Runs of slow scorers that are prepared, with their content in memory, and wait for a place, or have one. */
export interface RunStock {
  /** Number of runs that wait or have a place; of one end, or of both. */
  pending(end?: StockEnd): number;
  /** Number of runs below which more runs should be prepared. */
  readonly low: number;
  /** Number of runs from which on no more runs should be prepared. */
  readonly high: number;
}

/** Runs of one pass that found no room in one stock. */
export interface LeftRuns {
  readonly stock: RunStock;
  readonly runs: number;
}

/** Room in a stock that is set aside for the runs of one trace. */
export interface Room {
  readonly stock: RunStock;
  /** Places that the runs may use. */
  readonly end: StockEnd;
  /** Gives the room back: the runs are in the stock, or do not come. A second call does nothing. */
  release(): void;
}

/** Decides whether a pass may add runs to a stock. */
export interface Admission {
  /** Sets room aside for runs; null when the stock has none. */
  admit(stock: RunStock, runs: number): Room | null;
}

/** The judged runs of a process, and their places. */
export interface JudgeStock extends RunStock {
  /** Places of the stock. */
  readonly concurrency: number;
  /** Runs the call when there is a free place. */
  run<T>(end: StockEnd, call: () => Promise<T>): Promise<T>;
  /** Longest time that a run has waited for a place, milliseconds; 0 when no run waits. */
  waitMs(): number;
  /** Adds a listener that is called after each run that leaves the stock low. */
  onLow(listener: () => void): void;
}

export interface JudgeStockOptions {
  /** Runs at the same time. It should be what the providers allow: the time limit of a scorer starts when its run gets a place. */
  readonly concurrency: number;
  /** Share of the places that take the newest runs, from 0 to 1. */
  readonly newestShare: number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Rounds of all places that wait, prepared, for the present round: the next ones are read meanwhile. */
const ROUNDS = 2;

/** Most runs that are prepared beyond these rounds: look-ups and reads cost the store the same for one trace and for a batch. */
const MAX_BATCH = 200;

interface WaitingRun {
  readonly sinceMs: number;
  /** Never rejects. */
  readonly start: () => Promise<void>;
}

export function createJudgeStock({ concurrency, newestShare, monotonicMs }: JudgeStockOptions): JudgeStock {
  const low = ROUNDS * concurrency;
  const high = low + Math.min(MAX_BATCH, ROUNDS * low);
  const places = new PQueue({ concurrency });
  const waiting: Record<StockEnd, WaitingRun[]> = { newest: [], oldest: [] };
  const pending: Record<StockEnd, number> = { newest: 0, oldest: 0 };
  const listeners: (() => void)[] = [];
  let credit = 0;

  const countPending = (end?: StockEnd) =>
    end === undefined ? pending.newest + pending.oldest : pending[end];

  /** Takes the newest run as often as the share says, else the oldest one, so that no run waits for ever. */
  function takeNext(): WaitingRun | undefined {
    credit += newestShare;
    if (credit >= 1) {
      credit -= 1;
      return waiting.newest.pop() ?? waiting.oldest.shift();
    }
    return waiting.oldest.shift() ?? waiting.newest.shift();
  }

  return {
    concurrency,
    low,
    high,
    pending: countPending,
    async run(end, call) {
      pending[end] += 1;
      try {
        return await new Promise((resolve, reject) => {
          const start = () => call().then(resolve, reject);
          waiting[end].push({ sinceMs: monotonicMs(), start });
          void places.add(() => takeNext()?.start());
        });
      } finally {
        pending[end] -= 1;
        if (countPending() < low) {
          listeners.forEach((listener) => listener());
        }
      }
    },
    waitMs() {
      const first = [...waiting.newest, ...waiting.oldest].map(({ sinceMs }) => sinceMs);
      return first.length === 0 ? 0 : monotonicMs() - Math.min(...first);
    },
    onLow: (listener) => void listeners.push(listener),
  };
}

/** Most traces in the queue. The sweep finds the traces beyond it. */
export const MAX_QUEUED = 50_000;

/** Urgency of a trace: traces that became ready now go before traces of a sweep. */
export type Urgency = 'live' | 'sweep';

/** A trace that waits for room, and the number of its runs. */
interface LeftTrace {
  readonly item: WorkItem;
  readonly runs: number;
}

/** Traces to score, each at most once at a time. Only their ids are in memory, not their content. */
export interface WorkQueue {
  /**
   * Adds a trace. Returns false when the queue had no room for it, or for an older trace: the sweep finds that one. A trace under
   * way is queued again after it is done.
   */
  push(item: WorkItem, urgency: Urgency): boolean;
  /** Takes up to `limit` traces; they are under way until `done`. */
  take(limit: number): WorkItem[];
  /** Notes that runs of a trace under way found no room. After `done` the trace waits for room in any of their stocks. */
  leave(item: WorkItem, left: readonly LeftRuns[]): void;
  done(items: readonly WorkItem[]): void;
  /** Takes up to `limit` traces that wait for room in the stock, of at most `runs` runs, but at least one. */
  takeLeft(stock: RunStock, part: { end: StockEnd; limit: number; runs: number }): LeftTrace[];
  /** Number of traces that wait for room in the stock. */
  left(stock: RunStock): number;
  /** Stocks for which traces wait. */
  awaitedStocks(): RunStock[];
  /** Returns true for a queued trace that is not under way. */
  has(key: TraceKey): boolean;
  /** Number of traces that are not under way. */
  queued(): number;
  /** Number of traces that `take` can take. */
  ready(): number;
  inFlight(): number;
  /** Number of traces that had no room. */
  spilled(): number;
  /** Notes the begin of a sweep, which finds the traces again that had no room. */
  beginSweep(): void;
  /** Notes the end of a sweep. Returns true when traces had no room meanwhile. */
  endSweep(): boolean;
  /** Time since which the oldest trace could be scored, milliseconds, also of one that had no room; null without one. */
  oldestWaitMs(): number | null;
  /** Empties the queue. Traces under way stay. */
  clear(): void;
}

/** @param nowMs the store's clock, Unix milliseconds */
export function createWorkQueue(nowMs: () => number, maxQueued: number = MAX_QUEUED): WorkQueue {
  return new TraceQueue(nowMs, maxQueued);
}

/** A trace that is not under way. It has an entry for each stock in which it waits for room. */
interface Entry {
  readonly item: WorkItem;
  /** Runs that found no room in the stock; 0 for a trace without an earlier pass. */
  readonly runs: number;
}

/** A trace under way. */
interface Running {
  readonly urgency: Urgency;
  left: readonly LeftRuns[];
  /** The pass that follows this one. */
  next: { readonly item: WorkItem; readonly urgency: Urgency } | null;
}

/** Entries of each urgency, in the order in which they came. */
type Entries = Readonly<Record<Urgency, Map<string, Entry>>>;

/** Entries to which a trace is added, and the number of its runs there. */
interface Place {
  readonly entries: Entries;
  readonly runs: number;
}

class TraceQueue implements WorkQueue {
  readonly #nowMs: () => number;
  readonly #maxQueued: number;
  readonly #ready: Entries = createEntries();
  readonly #left = new Map<RunStock, Entries>();
  /** Keys of all traces that have entries. */
  readonly #keys = new Set<string>();
  readonly #running = new Map<string, Running>();
  #spilled = 0;
  /** Times since which the oldest traces could be scored that had no room before the last sweep began, and since then. */
  #spilledBeforeMs = Infinity;
  #spilledSinceMs = Infinity;
  #spilledAtBegin = 0;

  constructor(nowMs: () => number, maxQueued: number) {
    this.#nowMs = nowMs;
    this.#maxQueued = maxQueued;
  }

  push(item: WorkItem, urgency: Urgency): boolean {
    const key = joinTraceKey(item);
    const running = this.#running.get(key);
    if (running !== undefined) {
      // A sweep, too, may find work that the pass under way leaves out: the trace's other scorers may have come to this process.
      running.next = {
        item: mergeItems(running.next?.item, item),
        urgency: running.next?.urgency === 'live' ? 'live' : urgency,
      };
      return true;
    }
    const earlier = this.#remove(key);
    return this.#add(
      mergeItems(earlier?.item, { ...item, readyAtMs: item.readyAtMs ?? this.#nowMs() }),
      earlier?.urgency === 'live' ? 'live' : urgency,
      [{ entries: this.#ready, runs: 0 }],
    );
  }

  take(limit: number): WorkItem[] {
    const entries = [...listEntries(this.#ready.live, limit)];
    entries.push(...listEntries(this.#ready.sweep, limit - entries.length));
    return this.#start(entries);
  }

  leave(item: WorkItem, left: readonly LeftRuns[]): void {
    const running = this.#running.get(joinTraceKey(item));
    if (running !== undefined) {
      running.left = left;
    }
  }

  done(items: readonly WorkItem[]): void {
    for (const item of items) {
      const key = joinTraceKey(item);
      const running = this.#running.get(key);
      this.#running.delete(key);
      if (running === undefined) {
        continue;
      }
      const { next, left, urgency } = running;
      if (next !== null) {
        this.push(mergeItems(left.length === 0 ? undefined : item, next.item), next.urgency);
      } else if (left.length > 0) {
        this.#add(
          mergeItems(undefined, item),
          urgency,
          left.map((each) => this.#findPlace(each)),
        );
      }
    }
  }

  takeLeft(
    stock: RunStock,
    { end, limit, runs }: { end: StockEnd; limit: number; runs: number },
  ): LeftTrace[] {
    const entries = this.#left.get(stock);
    if (entries === undefined || limit <= 0 || runs <= 0) {
      return [];
    }
    const ordered =
      end === 'oldest'
        ? [...listEntries(entries.sweep, limit), ...listEntries(entries.live, limit)]
        : [...entries.sweep, ...entries.live].slice(-limit).reverse();
    let sum = 0;
    const chosen = ordered.slice(0, limit).filter(([, entry], index) => {
      sum += entry.runs;
      return index === 0 || sum <= runs;
    });
    this.#start(chosen);
    return chosen.map(([, { item, runs: count }]) => ({ item, runs: count }));
  }

  left(stock: RunStock): number {
    const entries = this.#left.get(stock);
    return entries === undefined ? 0 : countEntries(entries);
  }

  awaitedStocks(): RunStock[] {
    return [...this.#left.keys()].filter((stock) => this.left(stock) > 0);
  }

  has(key: TraceKey): boolean {
    return this.#keys.has(joinTraceKey(key));
  }

  queued(): number {
    return this.#keys.size;
  }

  ready(): number {
    return countEntries(this.#ready);
  }

  inFlight(): number {
    return this.#running.size;
  }

  spilled(): number {
    return this.#spilled;
  }

  beginSweep(): void {
    this.#spilledBeforeMs = Math.min(this.#spilledBeforeMs, this.#spilledSinceMs);
    this.#spilledSinceMs = Infinity;
    this.#spilledAtBegin = this.#spilled;
  }

  endSweep(): boolean {
    this.#spilledBeforeMs = Infinity;
    return this.#spilled > this.#spilledAtBegin;
  }

  oldestWaitMs(): number | null {
    let oldestMs = Math.min(this.#spilledBeforeMs, this.#spilledSinceMs);
    for (const { entries } of this.#maps()) {
      for (const { item } of entries.values()) {
        oldestMs = Math.min(oldestMs, item.readyAtMs ?? Infinity);
      }
    }
    return oldestMs === Infinity ? null : Math.max(0, this.#nowMs() - oldestMs);
  }

  clear(): void {
    this.#maps().forEach(({ entries }) => entries.clear());
    this.#keys.clear();
    for (const running of this.#running.values()) {
      running.next = null;
      running.left = [];
    }
  }

  /** All maps, the least urgent first. */
  #maps(): { urgency: Urgency; entries: Map<string, Entry> }[] {
    const all = [...this.#left.values(), this.#ready];
    return [
      ...all.map(({ sweep }) => ({ urgency: 'sweep' as const, entries: sweep })),
      ...all.map(({ live }) => ({ urgency: 'live' as const, entries: live })),
    ];
  }

  /** Removes all entries of a trace. */
  #remove(key: string): { item: WorkItem; urgency: Urgency } | undefined {
    let found: { item: WorkItem; urgency: Urgency } | undefined;
    for (const { urgency, entries } of this.#maps()) {
      const entry = entries.get(key);
      if (entry !== undefined) {
        entries.delete(key);
        found = { item: entry.item, urgency };
      }
    }
    this.#keys.delete(key);
    return found;
  }

  #findPlace({ stock, runs }: LeftRuns): Place {
    const entries = this.#left.get(stock) ?? createEntries();
    this.#left.set(stock, entries);
    return { entries, runs };
  }

  /**
   * Adds a trace at some places. A full queue drops its oldest trace of the least urgency for a live one, so that new traces are
   * scored soon. Returns false when a trace was dropped.
   */
  #add(item: WorkItem, urgency: Urgency, places: readonly Place[]): boolean {
    const isFull = this.queued() >= this.#maxQueued;
    if (isFull) {
      this.#spilled += 1;
      const victims = this.#maps().find(({ entries }) => entries.size > 0)?.entries;
      const oldest = victims?.keys().next().value;
      const isRefused = urgency === 'sweep' || oldest === undefined;
      const dropped = isRefused ? item : this.#remove(oldest)?.item;
      this.#spilledSinceMs = Math.min(this.#spilledSinceMs, dropped?.readyAtMs ?? Infinity);
      if (isRefused) {
        return false;
      }
    }
    const key = joinTraceKey(item);
    this.#keys.add(key);
    places.forEach(({ entries, runs }) => entries[urgency].set(key, { item, runs }));
    return !isFull;
  }

  #start(taken: readonly (readonly [string, Entry])[]): WorkItem[] {
    return taken.map(([key, { item }]) => {
      const { urgency } = this.#remove(key) ?? { urgency: 'live' };
      this.#running.set(key, { urgency, left: [], next: null });
      return item;
    });
  }
}

function createEntries(): Entries {
  return { live: new Map(), sweep: new Map() };
}

function countEntries({ live, sweep }: Entries): number {
  return live.size + sweep.size;
}

function listEntries(entries: ReadonlyMap<string, Entry>, limit: number): (readonly [string, Entry])[] {
  const listed: (readonly [string, Entry])[] = [];
  for (const entry of entries) {
    if (listed.length >= limit) {
      break;
    }
    listed.push(entry);
  }
  return listed;
}

/** Merges two items of one trace, without the room of either. */
export function mergeItems(earlier: WorkItem | undefined, { tenant, traceId, ...item }: WorkItem): WorkItem {
  const arrivedMs = Math.max(earlier?.arrivedMs ?? -Infinity, item.arrivedMs ?? -Infinity);
  const readyAtMs = Math.min(earlier?.readyAtMs ?? Infinity, item.readyAtMs ?? Infinity);
  const reread = item.reread === true || earlier?.reread === true;
  return {
    tenant,
    traceId,
    reread,
    ...(Number.isFinite(arrivedMs) ? { arrivedMs } : {}),
    ...(Number.isFinite(readyAtMs) ? { readyAtMs } : {}),
  };
}

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
