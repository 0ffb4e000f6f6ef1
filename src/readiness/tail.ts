import type { SpanSource, TraceKey } from '../store/contracts/stores.ts';
import type { ReadinessSettings } from './readiness.ts';
import { createWaitingSet, type ReadyTrace } from './waiting-set.ts';

/** Longer than the longest insert (30 s): an insert stamped earlier may commit later. */
export const OVERLAP_MS = 45_000;

/** Range ahead of its own clock in which a store's arrivals are read, milliseconds: stamps of a cluster's nodes differ. */
const AHEAD_MS = 3_600_000;

/** Most traces that wait in memory. */
const MAX_WAITING = 100_000;

export interface TailOptions extends ReadinessSettings {
  /** Most traces that wait in memory, default 100,000; what finds no room is left to the sweep. */
  readonly maxWaiting?: number;
}

export interface TailTick {
  readonly nowMs: number;
  readonly ready: readonly ReadyTrace[];
  /** Arrivals were lost sight of (an outage longer than any trace is waited for): a sweep is due. */
  readonly gap: boolean;
}

/** Follows arrivals. It only makes scoring fast: whatever it misses, the sweep finds. */
export interface Tail {
  /** Reads what came since the last tick, less the overlap, and gives what became ready. Throws when the store does. */
  tick(): Promise<TailTick>;
  isWaiting(key: TraceKey): boolean;
  waiting(): number;
  /** Age of the oldest waiting trace at the last tick, milliseconds; null without one. */
  oldestWaitMs(): number | null;
  spilled(): number;
}

/** A tail whose first tick reads back as far as any trace can have been waited for. */
export function createTail(spans: Pick<SpanSource, 'nowMs' | 'arrivals'>, options: TailOptions): Tail {
  const waitingSet = createWaitingSet({
    decisionWaitMs: options.decisionWaitMs,
    maxWaitMs: options.maxWaitMs,
    maxTraces: options.maxWaiting ?? MAX_WAITING,
    rememberMs: 2 * OVERLAP_MS,
  });
  let readUntilMs: number | null = null;

  async function tick(): Promise<TailTick> {
    const nowMs = await spans.nowMs();
    const earliest = nowMs - options.maxWaitMs - OVERLAP_MS;
    const wanted = readUntilMs === null ? earliest : readUntilMs - OVERLAP_MS;
    const arrivals = await spans.arrivals(Math.max(wanted, earliest), nowMs + AHEAD_MS);
    for (const arrival of arrivals) {
      waitingSet.add(arrival);
    }
    readUntilMs = nowMs;
    return { nowMs, ready: waitingSet.release(nowMs), gap: wanted < earliest };
  }

  return {
    tick,
    isWaiting: (key) => waitingSet.isWaiting(key),
    waiting: () => waitingSet.waiting(),
    oldestWaitMs() {
      const oldestMs = waitingSet.oldestMs();
      return oldestMs === null || readUntilMs === null ? null : Math.max(0, readUntilMs - oldestMs);
    },
    spilled: () => waitingSet.spilled(),
  };
}
