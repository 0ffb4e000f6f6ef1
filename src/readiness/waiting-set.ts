import { joinTraceKey, type Arrival, type TraceKey } from '../store/contracts/stores.ts';
import {
  AHEAD_MS,
  checkReadiness,
  computeReadyInMs,
  type ReadinessSettings,
  type ReadyBecause,
} from './readiness.ts';

/** Most span ids that are kept of one trace. For a larger trace only the quiet time and the age count. */
export const MAX_TRACKED_IDS = 20_000;

export interface WaitingSetOptions extends ReadinessSettings {
  /** Most traces in memory. The sweep finds the traces beyond it. */
  readonly maxTraces: number;
  /** Time that a released trace stays in memory, milliseconds: longer than the overlap of reads. */
  readonly rememberMs: number;
}

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

/** Traces that have arrived and are not ready, and traces that were released a short time ago. */
export interface WaitingSet {
  add(arrival: Arrival): void;
  /** Takes out the ready traces and returns them. A trace without a span of an agent or a model is taken out, not returned. */
  release(nowMs: number): ReadyTrace[];
  /** Time until the next trace is ready if no more spans come, milliseconds; null when no trace waits. */
  nextReadyInMs(nowMs: number): number | null;
  /** Time until so many traces of agents or models are ready if no more spans come, milliseconds; null when fewer wait. */
  batchReadyInMs(nowMs: number, traces: number): number | null;
  isWaiting(key: TraceKey): boolean;
  waiting(): number;
  /** First arrival of the trace that waits longest, by the store's clock; null when no trace waits. */
  oldestMs(): number | null;
  /** Number of arrivals that had no room in memory. */
  spilled(): number;
}

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

export function createWaitingSet(options: WaitingSetOptions): WaitingSet {
  return new OpenTraces(options);
}

class OpenTraces implements WaitingSet {
  readonly #options: WaitingSetOptions;
  readonly #waiting = new Map<string, Entry>();
  readonly #released = new Map<string, Entry>();
  #spilled = 0;

  constructor(options: WaitingSetOptions) {
    this.#options = options;
  }

  add(arrival: Arrival): void {
    const key = joinTraceKey(arrival);
    const open = this.#waiting.get(key);
    if (open !== undefined) {
      merge(open, arrival);
      return;
    }
    const released = this.#released.get(key);
    if (released === undefined) {
      if (this.#hasRoom()) {
        const entry = createEntry(arrival);
        merge(entry, arrival);
        this.#waiting.set(key, entry);
      }
      return;
    }
    if (isNews(released, arrival) && this.#hasRoom()) {
      this.#released.delete(key);
      released.openedAtMs = Math.max(arrival.firstArrivalMs, released.lastArrivalMs);
      released.releasedAtMs = null;
      merge(released, arrival);
      this.#waiting.set(key, released);
    }
  }

  release(nowMs: number): ReadyTrace[] {
    const ready: ReadyTrace[] = [];
    for (const [key, entry] of this.#waiting) {
      const state = readState(entry, nowMs);
      const because = checkReadiness(state, this.#options);
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
          readyAtMs: nowMs + computeReadyInMs(state, this.#options),
        });
      }
    }
    this.#forget(nowMs);
    return ready;
  }

  nextReadyInMs(nowMs: number): number | null {
    let nextMs = Infinity;
    for (const entry of this.#waiting.values()) {
      nextMs = Math.min(nextMs, computeReadyInMs(readState(entry, nowMs), this.#options));
    }
    return Number.isFinite(nextMs) ? nextMs : null;
  }

  batchReadyInMs(nowMs: number, traces: number): number | null {
    if (this.#waiting.size < traces) {
      return null;
    }
    const agents = [...this.#waiting.values()].filter((entry) => entry.agentSeen);
    const times = Float64Array.from(agents, (entry) =>
      computeReadyInMs(readState(entry, nowMs), this.#options),
    );
    return times.sort()[traces - 1] ?? null;
  }

  isWaiting(key: TraceKey): boolean {
    return this.#waiting.has(joinTraceKey(key));
  }

  waiting(): number {
    return this.#waiting.size;
  }

  oldestMs(): number | null {
    let oldestMs = Infinity;
    for (const { openedAtMs } of this.#waiting.values()) {
      oldestMs = Math.min(oldestMs, openedAtMs);
    }
    return Number.isFinite(oldestMs) ? oldestMs : null;
  }

  spilled(): number {
    return this.#spilled;
  }

  #hasRoom(): boolean {
    if (this.#waiting.size < this.#options.maxTraces) {
      return true;
    }
    this.#spilled += 1;
    return false;
  }

  /** Drops old released traces. They are in the order of their release, so the first young one ends the search. */
  #forget(nowMs: number): void {
    for (const [key, entry] of this.#released) {
      const idleSince = Math.max(entry.releasedAtMs ?? nowMs, entry.lastArrivalMs);
      const isYoung = nowMs - idleSince <= this.#options.rememberMs;
      if (isYoung && this.#released.size <= 2 * this.#options.maxTraces) {
        break;
      }
      this.#released.delete(key);
    }
  }
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
