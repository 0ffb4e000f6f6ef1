import {
  type CoveredPair,
  joinTraceKey,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../store/contracts/stores.ts';
import type { DecisionStore } from '../store/tables/decisions.ts';

/** Times that a trace is waited for. */
export interface ReadinessSettings {
  /** Quiet time before a trace is ready, milliseconds. */
  readonly decisionWaitMs: number;
  /** Longest wait for the rest of a trace, milliseconds since its first arrival. */
  readonly maxWaitMs: number;
}

/** Number of decision waits for a trace whose root span has not come. */
export const ROOTLESS_WAITS = 6;

/** Largest difference between the clocks of replicas, milliseconds. A stamp further ahead is from before the clock went back. */
export const AHEAD_MS = 60_000;

/** State of an arriving trace. */
export interface TraceState {
  /** True when a span without a parent has come. Spans are sent when they end, so the run has ended. */
  readonly rootSeen: boolean;
  /** True when the parent of a span has not come yet. */
  readonly parentMissing: boolean;
  /** Time since the last arrival, milliseconds by the store's clock. */
  readonly quietMs: number;
  /** Time since the first arrival without a decision, milliseconds by the store's clock. */
  readonly ageMs: number;
}

/** Reason why a trace is ready. `ended` and `quiet` traces seem complete; a trace scored at `max_wait` is partial. */
export type ReadyBecause = 'ended' | 'quiet' | 'max_wait';

/** Computes the time at which a trace without further arrivals is ready, milliseconds from now; 0 or less for a ready trace. */
export function computeReadyInMs(state: TraceState, settings: ReadinessSettings): number {
  const { decisionWaitMs, maxWaitMs } = settings;
  const byAgeMs = maxWaitMs - state.ageMs;
  if (state.rootSeen && state.parentMissing) {
    return byAgeMs;
  }
  const waits = state.rootSeen ? 1 : ROOTLESS_WAITS;
  return Math.min(byAgeMs, waits * decisionWaitMs - state.quietMs);
}

/** Returns the reason why a trace can be scored now; null while it must wait. */
export function checkReadiness(state: TraceState, settings: ReadinessSettings): ReadyBecause | null {
  const { decisionWaitMs, maxWaitMs } = settings;
  if (state.rootSeen && !state.parentMissing && state.quietMs >= decisionWaitMs) {
    return 'ended';
  }
  if (!state.rootSeen && state.quietMs >= ROOTLESS_WAITS * decisionWaitMs) {
    return 'quiet';
  }
  return state.ageMs >= maxWaitMs ? 'max_wait' : null;
}

/** Age of the arrivals that every sweep looks at, milliseconds. */
export const SWEEP_BACK_MS = 48 * 3_600_000;
export const SWEEP_EVERY_MS = 10 * 60_000;

/** Most traces of one sweep. The next sweep follows as soon as these are done. */
export const SWEEP_LIMIT = 10_000;

/** Times of the sweep, and of the waits for a trace. */
export interface SweepSettings extends ReadinessSettings {
  /** Age of the oldest arrival that a sweep looks for, milliseconds. */
  readonly reachMs: number;
}

/**
 * Range of the sweeps. The first one, and the first after `restart`, looks at all arrivals within the reach: nobody knows what was
 * decided. Later ones look back to the oldest trace that was undecided then, but at least over the near time, so that they cost
 * little and still find what came late.
 */
export class SweepRange {
  readonly #reachMs: number;
  readonly #nearMs: number;
  #decidedUntilMs = -Infinity;
  /** First arrival of the oldest undecided trace that the sweep under way has found. */
  #oldestMs = Infinity;

  /** @param nearMs age of the arrivals that every sweep looks at, milliseconds */
  constructor(reachMs: number, nearMs = SWEEP_BACK_MS) {
    this.#reachMs = reachMs;
    this.#nearMs = nearMs;
  }

  /** Returns the time from which the next sweep looks at arrivals, Unix milliseconds. */
  sinceMs(nowMs: number): number {
    return Math.max(nowMs - this.#reachMs, Math.min(nowMs - this.#nearMs, this.#decidedUntilMs));
  }

  /** Notes an undecided trace of the sweep under way. */
  note(firstArrivalMs: number): void {
    this.#oldestMs = Math.min(this.#oldestMs, firstArrivalMs);
  }

  /** Ends a sweep: it has looked at the traces of all scorers of this process. */
  end(): void {
    this.#decidedUntilMs = this.#oldestMs - OVERLAP_MS;
    this.#oldestMs = Infinity;
  }

  restart(): void {
    this.#decidedUntilMs = -Infinity;
  }
}

/** Stores that a sweep reads. */
export interface SweepStores {
  readonly spans: Pick<SpanSource, 'nowMs'>;
  readonly decisions: Pick<DecisionStore, 'undecided'>;
}

export interface SweepOptions {
  readonly settings: ReadinessSettings;
  readonly range: SweepRange;
  readonly pairs: readonly CoveredPair[];
  /** Shards of this process: traces of other processes take no room in the limit. Null: all shards. */
  readonly shards?: readonly number[] | null;
  /** True for a trace that the tail waits for. */
  readonly isWaiting: (key: TraceKey) => boolean;
  /** Default `SWEEP_LIMIT`. */
  readonly limit?: number;
}

/** An undecided trace. Times are Unix milliseconds by the store's clock. */
interface SweptTrace {
  readonly key: TraceKey;
  readonly firstArrivalMs: number;
  /** Time from which it can be scored. */
  readonly dueAtMs: number;
}

export interface SweepResult {
  /** The store's clock, Unix milliseconds. */
  readonly nowMs: number;
  readonly found: readonly SweptTrace[];
  /** True when the limit was reached: the store may have more traces. */
  readonly full: boolean;
}

/**
 * Finds the traces that a scorer of a rule has yet to decide: also those that a crash, a wrong clock or a race lost. Traces that the tail
 * waits for are left to the tail, which knows more of them. Throws when the store does.
 */
export async function runSweep(stores: SweepStores, options: SweepOptions): Promise<SweepResult> {
  const { settings, range, pairs, shards = null, limit = SWEEP_LIMIT } = options;
  const nowMs = await stores.spans.nowMs();
  if (pairs.length === 0) {
    return { nowMs, found: [], full: false };
  }
  const query = { sinceMs: range.sinceMs(nowMs), nowMs, pairs, shards, limit };
  const traces = await stores.decisions.undecided(query);
  const found = new Map<string, SweptTrace>();
  for (const trace of traces) {
    const key = { tenant: trace.tenant, traceId: trace.traceId };
    range.note(trace.firstArrivalMs);
    if (!options.isWaiting(key)) {
      const { firstArrivalMs } = trace;
      found.set(joinTraceKey(key), { key, firstArrivalMs, dueAtMs: computeDueAt(trace, settings, nowMs) });
    }
  }
  return { nowMs, found: [...found.values()], full: traces.length >= limit };
}

/**
 * The sweep does not know the parents of spans, so every trace waits as long as one without a root. An arrival that lies ahead of
 * the store's clock came before the clock went back, so it counts as now. A late span makes a trace ready again, however old it is.
 */
function computeDueAt(trace: TraceActivity, settings: ReadinessSettings, nowMs: number): number {
  const lastArrivalMs = Math.min(trace.lastArrivalMs, nowMs);
  const quietAtMs = lastArrivalMs + ROOTLESS_WAITS * settings.decisionWaitMs;
  return Math.max(lastArrivalMs, Math.min(quietAtMs, trace.firstArrivalMs + settings.maxWaitMs));
}

/**
 * Time range that is read again, milliseconds. It is longer than the longest insert (30 s), because an insert with an earlier stamp may
 * commit later.
 */
export const OVERLAP_MS = 45_000;
