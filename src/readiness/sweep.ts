import {
  joinTraceKey,
  type CoveredCell,
  type DecisionStore,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../store/contracts/stores.ts';
import { ROOTLESS_WAITS, type ReadinessSettings } from './readiness.ts';
import { OVERLAP_MS } from './tail.ts';

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
  readonly cells: readonly CoveredCell[];
  /** Shards of this process: traces of other processes take no room in the limit. Null: all shards. */
  readonly shards?: readonly number[] | null;
  /** True for a trace that the tail waits for. */
  readonly isWaiting: (key: TraceKey) => boolean;
  /** Default `SWEEP_LIMIT`. */
  readonly limit?: number;
}

/** An undecided trace, and the time (store's clock, Unix milliseconds) from which it can be scored. */
interface SweptTrace {
  readonly key: TraceKey;
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
  const { settings, range, cells, shards = null, limit = SWEEP_LIMIT } = options;
  const nowMs = await stores.spans.nowMs();
  if (cells.length === 0) {
    return { nowMs, found: [], full: false };
  }
  const query = { sinceMs: range.sinceMs(nowMs), nowMs, cells, shards, limit };
  const traces = await stores.decisions.undecided(query);
  const found = new Map<string, SweptTrace>();
  for (const trace of traces) {
    const key = { tenant: trace.tenant, traceId: trace.traceId };
    range.note(trace.firstArrivalMs);
    if (!options.isWaiting(key)) {
      found.set(joinTraceKey(key), { key, dueAtMs: computeDueAt(trace, settings, nowMs) });
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
