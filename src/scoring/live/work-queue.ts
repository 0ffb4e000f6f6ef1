import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import type { LeftRuns, RunStock, StockEnd } from '../attempt/run-stock.ts';
import type { WorkItem } from '../score-traces.ts';

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
