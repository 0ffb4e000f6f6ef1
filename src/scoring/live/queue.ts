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
  /** First arrival, as far as it is known: it decides which revision of the rules scores the trace. Unix milliseconds by the store's clock. */
  readonly firstMs?: number | undefined;
  /** Slots for the runs that an earlier pass left waiting. */
  readonly reservation?: Reservation | undefined;
}

/** End of a backlog: part of the slots take the newest traces, so that alerts stay timely, and the other slots the oldest. */
export type QueueEnd = 'newest' | 'oldest';

/** Runs of slow scorers that are prepared, with their content in memory, and wait for a slot, or have one. */
export interface RunSlots {
  /** Number of runs that wait for a slot or have one; of one end, or of both. */
  pending(end?: QueueEnd): number;
  /** Number of runs below which more runs should be prepared. */
  readonly low: number;
  /** Number of runs from which on no more runs should be prepared. */
  readonly high: number;
}

/** Runs of one pass that got no slots. */
export interface WaitingRuns {
  readonly slots: RunSlots;
  readonly runs: number;
}

export interface Reservation {
  readonly slots: RunSlots;
  /** Slots that the runs may use. */
  readonly end: QueueEnd;
  /** Gives the slots back: the runs have them, or do not come. A second call does nothing. */
  release(): void;
}

/** Decides whether a pass may prepare runs. */
export interface Admission {
  /** Reserves slots for runs; null when there are none. */
  admit(slots: RunSlots, runs: number): Reservation | null;
  /** Returns true when there are none. */
  isFull(slots: RunSlots): boolean;
}

/** The judged runs of a process, and their slots. */
export interface JudgeSlots extends RunSlots {
  /** Runs at the same time. */
  readonly concurrency: number;
  /** Runs the call when there is a free slot. */
  run<T>(end: QueueEnd, call: () => Promise<T>): Promise<T>;
  /** Longest time that a run has waited for a slot, milliseconds; 0 when no run waits. */
  waitMs(): number;
  /** Adds a listener that is called after each run whose end leaves fewer than `low`. */
  onLow(listener: () => void): void;
}

/** Rounds of all slots that wait, prepared, for the present round: the next ones are read meanwhile. */
const ROUNDS = 2;

/** Most runs that are prepared beyond these rounds: look-ups and reads cost the store the same for one trace and for a batch. */
const MAX_BATCH = 200;

/**
 * Creates the slots of judged runs.
 * @param options concurrency: runs at the same time. It should be what the providers allow: the time limit of a scorer starts when its
 * run gets a slot. newestShare: share of the slots that take the newest runs, from 0 to 1
 */
export function createJudgeSlots({
  concurrency,
  newestShare,
  monotonicMs,
}: {
  readonly concurrency: number;
  readonly newestShare: number;
  readonly monotonicMs: () => number;
}): JudgeSlots {
  const low = ROUNDS * concurrency;
  const places = new PQueue({ concurrency });
  const waiting: Record<QueueEnd, { readonly sinceMs: number; readonly start: () => Promise<void> }[]> = {
    newest: [],
    oldest: [],
  };
  const pending: Record<QueueEnd, number> = { newest: 0, oldest: 0 };
  const listeners: (() => void)[] = [];
  let credit = 0;
  const countPending = (end?: QueueEnd) =>
    end === undefined ? pending.newest + pending.oldest : pending[end];

  /** Takes the newest run as often as the share says, else the oldest one, so that no run waits for ever. */
  const takeNext = () => {
    credit += newestShare;
    if (credit >= 1) {
      credit -= 1;
      return waiting.newest.pop() ?? waiting.oldest.shift();
    }
    return waiting.oldest.shift() ?? waiting.newest.shift();
  };

  return {
    concurrency,
    low,
    high: low + Math.min(MAX_BATCH, ROUNDS * low),
    pending: countPending,
    async run(end, call) {
      pending[end] += 1;
      try {
        return await new Promise((resolve, reject) => {
          waiting[end].push({ sinceMs: monotonicMs(), start: () => call().then(resolve, reject) });
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

/** A trace that is not under way, and its runs that got no slots; 0 for a trace without an earlier pass. */
interface Entry {
  readonly item: WorkItem;
  readonly runs: number;
}

/** A trace under way. */
interface Running {
  readonly urgency: Urgency;
  readonly item: WorkItem;
  waiting: readonly WaitingRuns[];
  /** The pass that follows this one. */
  next: { readonly item: WorkItem; readonly urgency: Urgency } | null;
}

/** Entries of each urgency, in the order in which they came. */
type Entries = Readonly<Record<Urgency, Map<string, Entry>>>;

const createEntries = (): Entries => ({ live: new Map(), sweep: new Map() });
const countEntries = ({ live, sweep }: Entries): number => live.size + sweep.size;

/**
 * Traces to score, each at most once at a time: ready ones, and ones that wait for slots. Only their ids are in memory, not
 * their content.
 */
export class WorkQueue {
  readonly #nowMs: () => number;
  readonly #maxQueued: number;
  readonly #ready = createEntries();
  /** A trace has an entry for each slots in which it waits. */
  readonly #waiting = new Map<RunSlots, Entries>();
  /** Keys of all traces that have entries. */
  readonly #keys = new Set<string>();
  readonly #running = new Map<string, Running>();
  #spilled = 0;
  /** Times since which the oldest traces could be scored that had no room before the last sweep began, and since then. */
  #spilledBeforeMs = Infinity;
  #spilledSinceMs = Infinity;
  #spilledAtBegin = 0;

  /** @param nowMs the store's clock, Unix milliseconds */
  constructor(nowMs: () => number, maxQueued = MAX_QUEUED) {
    this.#nowMs = nowMs;
    this.#maxQueued = maxQueued;
  }

  /**
   * Adds a trace. Returns false when the queue had no room for it, or for an older trace: the sweep finds that one. A trace under
   * way is queued again after it is done.
   */
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
    const merged = mergeItems(earlier?.item, { ...item, readyAtMs: item.readyAtMs ?? this.#nowMs() });
    const ready = { entries: this.#ready, runs: 0 };
    return this.#add(merged, earlier?.urgency === 'live' ? 'live' : urgency, [ready]);
  }

  /** Takes up to `limit` ready traces; they are under way until `done`. */
  take(limit: number): WorkItem[] {
    const { live, sweep } = this.#ready;
    return this.#start(listFirst([live, sweep], limit)).map(({ item }) => item);
  }

  /** Notes that runs of a trace under way got no slots. After `done` the trace waits for any of their slots. */
  leave(item: WorkItem, waiting: readonly WaitingRuns[]): void {
    const running = this.#running.get(joinTraceKey(item));
    if (running !== undefined) {
      running.waiting = waiting;
    }
  }

  done(items: readonly WorkItem[]): void {
    for (const item of items) {
      const key = joinTraceKey(item);
      const { next, waiting, urgency } = this.#running.get(key) ?? {
        next: null,
        waiting: [],
        urgency: 'live',
      };
      this.#running.delete(key);
      if (next !== null) {
        this.push(mergeItems(waiting.length === 0 ? undefined : item, next.item), next.urgency);
      } else if (waiting.length > 0) {
        const places = waiting.map(({ slots, runs }) => {
          const entries = this.#waiting.get(slots) ?? createEntries();
          this.#waiting.set(slots, entries);
          return { entries, runs };
        });
        this.#add(mergeItems(undefined, item), urgency, places);
      }
    }
  }

  /** Takes up to `limit` traces that wait for slots, of at most `runs` runs, but at least one. */
  takeWaiting(
    slots: RunSlots,
    { end, limit, runs }: { end: QueueEnd; limit: number; runs: number },
  ): readonly Entry[] {
    const entries = this.#waiting.get(slots);
    if (entries === undefined || limit <= 0 || runs <= 0) {
      return [];
    }
    const ordered =
      end === 'oldest'
        ? listFirst([entries.sweep, entries.live], limit)
        : [...entries.sweep, ...entries.live].slice(-limit).reverse();
    let sum = 0;
    return this.#start(
      ordered.filter(([, entry], index) => {
        sum += entry.runs;
        return index === 0 || sum <= runs;
      }),
    );
  }

  /** Number of traces that wait for slots. */
  waiting(slots: RunSlots): number {
    const entries = this.#waiting.get(slots);
    return entries === undefined ? 0 : countEntries(entries);
  }

  awaitedSlots(): RunSlots[] {
    return [...this.#waiting.keys()].filter((slots) => this.waiting(slots) > 0);
  }

  /** Returns true for a queued trace that is not under way. */
  has(key: TraceKey): boolean {
    return this.#keys.has(joinTraceKey(key));
  }

  /** Number of traces that are not under way. */
  queued(): number {
    return this.#keys.size;
  }

  /** Number of traces that `take` can take. */
  ready(): number {
    return countEntries(this.#ready);
  }

  inFlight(): number {
    return this.#running.size;
  }

  /** Returns true when a trace that waits or is under way arrived before a time, or was ready then, Unix milliseconds. */
  hasBefore(atMs: number): boolean {
    const isBefore = ({ item }: Pick<Entry, 'item'>) => (item.firstMs ?? item.readyAtMs ?? Infinity) < atMs;
    return [this.#running, ...this.#maps().map(({ entries }) => entries)].some((entries) =>
      [...entries.values()].some(isBefore),
    );
  }

  /** Number of traces that had no room. */
  spilled(): number {
    return this.#spilled;
  }

  /** Notes the start of a sweep, which finds the traces again that had no room. */
  beginSweep(): void {
    this.#spilledBeforeMs = Math.min(this.#spilledBeforeMs, this.#spilledSinceMs);
    this.#spilledSinceMs = Infinity;
    this.#spilledAtBegin = this.#spilled;
  }

  /** Notes the end of a sweep. Returns true when traces had no room meanwhile. */
  endSweep(): boolean {
    this.#spilledBeforeMs = Infinity;
    return this.#spilled > this.#spilledAtBegin;
  }

  /** Time since which the oldest trace could be scored, milliseconds, also of one that had no room; null without one. */
  oldestWaitMs(): number | null {
    let oldestMs = Math.min(this.#spilledBeforeMs, this.#spilledSinceMs);
    for (const { entries } of this.#maps()) {
      for (const { item } of entries.values()) {
        oldestMs = Math.min(oldestMs, item.readyAtMs ?? Infinity);
      }
    }
    return oldestMs === Infinity ? null : Math.max(0, this.#nowMs() - oldestMs);
  }

  /** Empties the queue. Traces under way stay. */
  clear(): void {
    this.#maps().forEach(({ entries }) => entries.clear());
    this.#keys.clear();
    for (const running of this.#running.values()) {
      running.next = null;
      running.waiting = [];
    }
  }

  /** All maps, the least urgent first. */
  #maps(): { urgency: Urgency; entries: Map<string, Entry> }[] {
    const all = [...this.#waiting.values(), this.#ready];
    return (['sweep', 'live'] as const).flatMap((urgency) =>
      all.map((entries) => ({ urgency, entries: entries[urgency] })),
    );
  }

  #remove(key: string): { item: WorkItem; urgency: Urgency } | undefined {
    let removed: { item: WorkItem; urgency: Urgency } | undefined;
    for (const { urgency, entries } of this.#maps()) {
      const entry = entries.get(key);
      if (entries.delete(key) && entry !== undefined) {
        removed = { item: entry.item, urgency };
      }
    }
    this.#keys.delete(key);
    return removed;
  }

  /**
   * Adds a trace at some places, with the number of its runs there. A full queue drops its oldest trace of the least urgency for a
   * live one, so that new traces are scored soon. Returns false when a trace was dropped.
   */
  #add(
    item: WorkItem,
    urgency: Urgency,
    places: readonly { readonly entries: Entries; readonly runs: number }[],
  ): boolean {
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

  #start(taken: readonly (readonly [string, Entry])[]): Entry[] {
    return taken.map(([key, entry]) => {
      const { urgency } = this.#remove(key) ?? { urgency: 'live' };
      this.#running.set(key, { urgency, item: entry.item, waiting: [], next: null });
      return entry;
    });
  }
}

/** Lists the first entries, without a copy of all. */
function listFirst(maps: readonly ReadonlyMap<string, Entry>[], limit: number): (readonly [string, Entry])[] {
  const listed: (readonly [string, Entry])[] = [];
  for (const entries of maps) {
    for (const entry of entries) {
      if (listed.length >= limit) {
        return listed;
      }
      listed.push(entry);
    }
  }
  return listed;
}

/** Merges two items of one trace, without the reservation of either. */
export function mergeItems(earlier: WorkItem | undefined, { tenant, traceId, ...item }: WorkItem): WorkItem {
  const arrivedMs = Math.max(earlier?.arrivedMs ?? -Infinity, item.arrivedMs ?? -Infinity);
  const readyAtMs = Math.min(earlier?.readyAtMs ?? Infinity, item.readyAtMs ?? Infinity);
  const firstMs = Math.min(earlier?.firstMs ?? Infinity, item.firstMs ?? Infinity);
  const reread = item.reread === true || earlier?.reread === true;
  return {
    tenant,
    traceId,
    reread,
    ...(Number.isFinite(arrivedMs) ? { arrivedMs } : {}),
    ...(Number.isFinite(readyAtMs) ? { readyAtMs } : {}),
    ...(Number.isFinite(firstMs) ? { firstMs } : {}),
  };
}

/**
 * Admission of runs to their slots, and the filling of slots that ran low. Without a backlog a run may use all slots. With
 * a backlog, runs of traces that are ready now may use the share of the newest; the other slots are for the backlog.
 */
export class SlotAdmission implements Admission {
  readonly #queue: WorkQueue;
  readonly #shares: Readonly<Record<QueueEnd, number>>;
  readonly #maxRuns: number;
  readonly #hasMemory: (slots: RunSlots) => boolean;
  /** Runs that have a reservation and are not there yet. */
  readonly #reserved = new Map<RunSlots, Record<QueueEnd, number>>();

  /**
   * @param newestShare share of the slots for the newest traces, 0 to 1
   * @param limits maxRuns: most runs that are prepared for the same slots; hasMemory: returns false while the content of the runs that wait fills the memory of
   * the slots: then no run gets one
   */
  constructor(
    queue: WorkQueue,
    newestShare: number,
    limits: { readonly maxRuns: number; readonly hasMemory: (slots: RunSlots) => boolean },
  ) {
    this.#queue = queue;
    this.#shares = { newest: newestShare, oldest: 1 - newestShare };
    this.#maxRuns = limits.maxRuns;
    this.#hasMemory = limits.hasMemory;
  }

  admit(slots: RunSlots, runs: number): Reservation | null {
    const end = this.#findEnd(slots);
    return end === null ? null : this.#reserve(slots, end, runs);
  }

  isFull(slots: RunSlots): boolean {
    return this.#findEnd(slots) === null;
  }

  /** Finds the end whose slots a run of a trace that is ready now may use; null when there are none. */
  #findEnd(slots: RunSlots): QueueEnd | null {
    if (!this.#hasMemory(slots)) {
      return null;
    }
    const high = Math.min(slots.high, this.#maxRuns);
    if (this.#queue.waiting(slots) > 0) {
      return this.#countRuns(slots, 'newest') < high * this.#shares.newest ? 'newest' : null;
    }
    // When a backlog follows, its traces are newer than this one.
    const count = this.#countRuns(slots, 'newest') + this.#countRuns(slots, 'oldest');
    return count < high ? 'oldest' : null;
  }

  /** Takes traces that wait for slots out of the queue, from both ends of the backlog, and reserves slots for them. */
  takeReserved(limit: number): WorkItem[] {
    return this.#queue.awaitedSlots().flatMap((slots) => {
      const refills = this.#hasMemory(slots) ? this.#listRefills(slots) : [];
      // Both ends in one batch: look-ups cost the store the same for one trace and for many.
      return refills.some(({ count, from }) => count < from)
        ? refills.flatMap(({ end, count, to }) =>
            this.#queue
              .takeWaiting(slots, { end, limit, runs: Math.ceil(to - count) })
              .map(({ item, runs }) => ({ ...item, reservation: this.#reserve(slots, end, runs) })),
          )
        : [];
    });
  }

  /** Lists the runs of both ends, below which number they are refilled, and up to which. */
  #listRefills(slots: RunSlots) {
    const low = Math.min(slots.low, this.#maxRuns);
    const high = Math.min(slots.high, this.#maxRuns);
    return (['oldest', 'newest'] as const).map((end) => {
      const share = this.#shares[end];
      const count = this.#countRuns(slots, end);
      // The newest end keeps slots for traces that are ready soon.
      return end === 'oldest'
        ? { end, count, from: low * share, to: high * share }
        : { end, count, from: (low / 2) * share, to: ((low + high) / 2) * share };
    });
  }

  #countRuns(slots: RunSlots, end: QueueEnd): number {
    return slots.pending(end) + (this.#reserved.get(slots)?.[end] ?? 0);
  }

  #reserve(slots: RunSlots, end: QueueEnd, runs: number): Reservation {
    const reserved = this.#reserved.get(slots) ?? { newest: 0, oldest: 0 };
    this.#reserved.set(slots, reserved);
    reserved[end] += runs;
    let open = runs;
    return {
      slots,
      end,
      release() {
        reserved[end] -= open;
        open = 0;
      },
    };
  }
}
