import {
  OVERLAP_MS,
  AHEAD_MS,
  checkReadiness,
  computeReadyInMs,
  type ReadinessSettings,
  type ReadyBecause,
} from './readiness.ts';
import { type Arrival, joinTraceKey, type SpanSource, type TraceKey } from '../store/contracts/stores.ts';
import { DAY_MS } from '../domain/durations.ts';

/** Interval of the reads of the whole overlap, milliseconds: an arrival that committed late is found within this time. */
const WHOLE_EVERY_MS = 10_000;

/** Overlap of the ticks in between, milliseconds: most inserts commit within it, and it costs the store a third of the whole one. */
const SHORT_OVERLAP_MS = 5_000;

/** Time after the store's clock up to which a tick reads arrivals, milliseconds: the clocks of replicas differ. */
const READ_AHEAD_MS = 3_600_000;

/** Time up to which arrivals are read at a start and after the clock went back, milliseconds: all of them. */
const ALL_AHEAD_MS = 365 * DAY_MS;

/** Most traces that wait in memory. */
const MAX_WAITING = 100_000;

/** A trace that became ready. */
export interface ReadyTrace extends TraceKey {
  readonly because: ReadyBecause;
  /** True when the trace was released before and new spans came. */
  readonly reopened: boolean;
  /** First arrival after the last release, if there was one. Unix milliseconds by the store's clock, as below. */
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  /** Time since which the trace is ready: before now after a start of the process. */
  readonly readyAtMs: number;
}

/** Most span ids that are kept of one trace. For a larger trace only the quiet time and the age count. */
export const MAX_TRACKED_IDS = 20_000;

/** Time that a released trace stays in memory, milliseconds: longer than the overlap of reads. */
const REMEMBER_MS = 2 * OVERLAP_MS;

interface Entry {
  readonly key: TraceKey;
  /** First arrival since the last release. */
  openedAtMs: number;
  lastArrivalMs: number;
  readonly spanIds: Set<string>;
  readonly missingParents: Set<string>;
  rootSeen: boolean;
  agentSeen: boolean;
  tooLarge: boolean;
  releasedAtMs: number | null;
  releases: number;
}

/**
 * Follows the arrivals of the store. It only makes scoring fast: the sweep finds every trace that the tail misses. The first tick
 * reads back over the maximum wait, so that a restart misses no waiting trace.
 */
export class Tail {
  readonly #spans: Pick<SpanSource, 'nowMs' | 'arrivals'>;
  readonly #settings: ReadinessSettings;
  readonly #maxWaiting: number;
  /** Traces that have arrived and are not ready, and traces that were released a short time ago. */
  readonly #waiting = new Map<string, Entry>();
  readonly #released = new Map<string, Entry>();
  #spilled = 0;
  #readUntilMs: number | null = null;
  /** Time of the last tick that read a whole overlap. */
  #wholeAtMs = 0;

  /** @param maxWaiting most traces that wait in memory. The sweep finds the traces beyond it */
  constructor(
    spans: Pick<SpanSource, 'nowMs' | 'arrivals'>,
    settings: ReadinessSettings,
    maxWaiting = MAX_WAITING,
  ) {
    this.#spans = spans;
    this.#settings = settings;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Reads the arrivals since the last tick, less an overlap. Returns the store's clock, and `gap` when arrivals may be missed, after an
   * outage longer than the maximum wait, or when the clock went back: then a sweep is due. Throws when the store does.
   */
  async tick(): Promise<{ readonly nowMs: number; readonly gap: boolean }> {
    const nowMs = await this.#spans.nowMs();
    const readUntilMs = this.#readUntilMs;
    // Not later than a whole read begins, however short the wait is.
    const earliestMs = nowMs - Math.max(this.#settings.maxWaitMs, 2 * WHOLE_EVERY_MS) - OVERLAP_MS;
    const wentBack = readUntilMs !== null && nowMs < readUntilMs - AHEAD_MS;
    const isStart = readUntilMs === null || wentBack;
    const isWhole = isStart || nowMs - this.#wholeAtMs >= WHOLE_EVERY_MS;
    // From the last whole read: an arrival that was not stored then is in the range of this one.
    const sinceMs = isWhole ? this.#wholeAtMs - OVERLAP_MS : (readUntilMs ?? nowMs) - SHORT_OVERLAP_MS;
    const fromMs = isStart ? earliestMs : Math.min(sinceMs, nowMs - SHORT_OVERLAP_MS);
    const untilMs = nowMs + (isStart ? ALL_AHEAD_MS : READ_AHEAD_MS);
    for (const arrival of await this.#spans.arrivals(Math.max(fromMs, earliestMs), untilMs)) {
      this.#add(arrival);
    }
    this.#readUntilMs = nowMs;
    this.#wholeAtMs = isWhole ? nowMs : this.#wholeAtMs;
    return { nowMs, gap: wentBack || fromMs < earliestMs };
  }

  #add(arrival: Arrival): void {
    const key = joinTraceKey(arrival);
    const open = this.#waiting.get(key);
    if (open !== undefined) {
      merge(open, arrival);
      return;
    }
    const released = this.#released.get(key);
    if ((released !== undefined && !isNews(released, arrival)) || !this.#hasRoom()) {
      return;
    }
    const entry = released ?? createEntry(arrival);
    if (released !== undefined) {
      this.#released.delete(key);
      entry.openedAtMs = Math.max(arrival.firstArrivalMs, entry.lastArrivalMs);
      entry.releasedAtMs = null;
    }
    merge(entry, arrival);
    this.#waiting.set(key, entry);
  }

  /** Takes out the traces that became ready since the last release. A trace without a span of an agent or a model is not returned. */
  release(nowMs: number): ReadyTrace[] {
    const ready: ReadyTrace[] = [];
    for (const [key, entry] of this.#waiting) {
      const state = readState(entry, nowMs);
      const because = checkReadiness(state, this.#settings);
      if (because === null) {
        continue;
      }
      this.#waiting.delete(key);
      entry.releasedAtMs = nowMs;
      entry.releases += 1;
      this.#released.set(key, entry);
      if (entry.agentSeen) {
        ready.push({
          ...entry.key,
          because,
          reopened: entry.releases > 1,
          firstArrivalMs: entry.openedAtMs,
          lastArrivalMs: entry.lastArrivalMs,
          readyAtMs: nowMs + computeReadyInMs(state, this.#settings),
        });
      }
    }
    this.#forget(nowMs);
    return ready;
  }

  /** Time until the next trace is ready if no more spans come, milliseconds; null when no trace waits. */
  nextReadyInMs(nowMs: number): number | null {
    return least([...this.#waiting.values()], (entry) => this.#readyInMs(entry, nowMs));
  }

  /** Time until so many traces of agents or models are ready if no more spans come, milliseconds; null when fewer wait. */
  batchReadyInMs(nowMs: number, traces: number): number | null {
    if (this.#waiting.size < traces) {
      return null;
    }
    const agents = [...this.#waiting.values()].filter((entry) => entry.agentSeen);
    const times = Float64Array.from(agents, (entry) => this.#readyInMs(entry, nowMs));
    return times.sort()[traces - 1] ?? null;
  }

  isWaiting(key: TraceKey): boolean {
    return this.#waiting.has(joinTraceKey(key));
  }

  waiting(): number {
    return this.#waiting.size;
  }

  /** Returns true when a waiting trace arrived before a time, Unix milliseconds. */
  hasBefore(atMs: number): boolean {
    return [...this.#waiting.values()].some(({ openedAtMs }) => openedAtMs < atMs);
  }

  /** Age of the oldest waiting trace at the last tick, milliseconds; null when no trace waits. */
  oldestWaitMs(): number | null {
    const oldestMs = least([...this.#waiting.values()], ({ openedAtMs }) => openedAtMs);
    return oldestMs === null || this.#readUntilMs === null ? null : Math.max(0, this.#readUntilMs - oldestMs);
  }

  /** Number of arrivals that had no room in memory. */
  spilled(): number {
    return this.#spilled;
  }

  #readyInMs(entry: Entry, nowMs: number): number {
    return computeReadyInMs(readState(entry, nowMs), this.#settings);
  }

  #hasRoom(): boolean {
    const hasRoom = this.#waiting.size < this.#maxWaiting;
    this.#spilled += hasRoom ? 0 : 1;
    return hasRoom;
  }

  /** Drops old released traces. They are in the order of their release, so the first young one ends the search. */
  #forget(nowMs: number): void {
    for (const [key, entry] of this.#released) {
      const idleSince = Math.max(entry.releasedAtMs ?? nowMs, entry.lastArrivalMs);
      if (nowMs - idleSince <= REMEMBER_MS && this.#released.size <= 2 * this.#maxWaiting) {
        break;
      }
      this.#released.delete(key);
    }
  }
}

function least(entries: readonly Entry[], read: (entry: Entry) => number): number | null {
  const value = entries.reduce((lowest, entry) => Math.min(lowest, read(entry)), Infinity);
  return Number.isFinite(value) ? value : null;
}

function createEntry(arrival: Arrival): Entry {
  return {
    key: { tenant: arrival.tenant, traceId: arrival.traceId },
    openedAtMs: arrival.firstArrivalMs,
    lastArrivalMs: arrival.lastArrivalMs,
    spanIds: new Set(),
    missingParents: new Set(),
    rootSeen: false,
    agentSeen: false,
    tooLarge: false,
    releasedAtMs: null,
    releases: 0,
  };
}

/** Returns true for a new span id whatever its time, because an insert with an earlier stamp may commit later. */
function isNews(entry: Entry, arrival: Arrival): boolean {
  return (
    arrival.lastArrivalMs > entry.lastArrivalMs ||
    (!entry.tooLarge && arrival.spanIds.some((id) => !entry.spanIds.has(id)))
  );
}

function merge(entry: Entry, arrival: Arrival): void {
  entry.lastArrivalMs = Math.max(entry.lastArrivalMs, arrival.lastArrivalMs);
  if (entry.releases === 0) {
    entry.openedAtMs = Math.min(entry.openedAtMs, arrival.firstArrivalMs);
  }
  entry.rootSeen ||= arrival.rootSeen;
  entry.agentSeen ||= arrival.agentSeen;
  if (entry.tooLarge) {
    return;
  }
  for (const id of arrival.spanIds) {
    entry.spanIds.add(id);
    entry.missingParents.delete(id);
  }
  for (const id of arrival.parentIds) {
    if (!entry.spanIds.has(id)) {
      entry.missingParents.add(id);
    }
  }
  if (entry.spanIds.size > MAX_TRACKED_IDS) {
    entry.tooLarge = true;
    entry.spanIds.clear();
    entry.missingParents.clear();
  }
}

/** A trace whose arrivals lie ahead of the clock came before the clock went back: it has waited for long. */
function readState(entry: Entry, nowMs: number) {
  const isAhead = entry.lastArrivalMs > nowMs + AHEAD_MS;
  return {
    rootSeen: entry.rootSeen,
    parentMissing: entry.missingParents.size > 0,
    quietMs: isAhead ? Infinity : nowMs - entry.lastArrivalMs,
    ageMs: isAhead ? Infinity : nowMs - entry.openedAtMs,
  };
}
