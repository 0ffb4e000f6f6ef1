import type { SpanSource, TraceKey } from '../store/contracts/stores.ts';
import { DAY_MS } from '../domain/durations.ts';
import { AHEAD_MS, type ReadinessSettings } from './readiness.ts';
import { createWaitingSet, type ReadyTrace } from './waiting-set.ts';

/**
 * Time range that is read again, milliseconds. It is longer than the longest insert (30 s), because an insert with an earlier stamp may
 * commit later.
 */
export const OVERLAP_MS = 45_000;

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

export interface TailOptions extends ReadinessSettings {
  /** Most traces that wait in memory, default 100,000. The sweep finds the traces beyond it. */
  readonly maxWaiting?: number;
}

interface TailTick {
  /** The store's clock, Unix milliseconds. */
  readonly nowMs: number;
  /** True when arrivals may be missed, after an outage longer than the maximum wait, or when the clock went back: a sweep is due. */
  readonly gap: boolean;
}

/** Follows the arrivals of the store. It only makes scoring fast: the sweep finds every trace that the tail misses. */
export interface Tail {
  /** Reads the arrivals since the last tick, less an overlap. Throws when the store does. */
  tick(): Promise<TailTick>;
  /** Returns the traces that became ready since the last release, as far as the arrivals of the last tick tell. */
  release(nowMs: number): readonly ReadyTrace[];
  /** Time until the next trace is ready if no more spans come, milliseconds; null when no trace waits. */
  nextReadyInMs(nowMs: number): number | null;
  /** Time until so many traces of agents or models are ready if no more spans come, milliseconds; null when fewer wait. */
  batchReadyInMs(nowMs: number, traces: number): number | null;
  isWaiting(key: TraceKey): boolean;
  waiting(): number;
  /** Age of the oldest waiting trace at the last tick, milliseconds; null when no trace waits. */
  oldestWaitMs(): number | null;
  /** Number of arrivals that had no room in memory. */
  spilled(): number;
}

/** Creates a tail. Its first tick reads back over the maximum wait, so that a restart misses no waiting trace. */
export function createTail(spans: Pick<SpanSource, 'nowMs' | 'arrivals'>, options: TailOptions): Tail {
  const waitingSet = createWaitingSet({
    decisionWaitMs: options.decisionWaitMs,
    maxWaitMs: options.maxWaitMs,
    maxTraces: options.maxWaiting ?? MAX_WAITING,
    rememberMs: 2 * OVERLAP_MS,
  });
  let readUntilMs: number | null = null;
  /** Time of the last tick that read a whole overlap. */
  let wholeAtMs = 0;

  async function tick(): Promise<TailTick> {
    const nowMs = await spans.nowMs();
    // Not later than a whole read begins, however short the wait is.
    const earliestMs = nowMs - Math.max(options.maxWaitMs, 2 * WHOLE_EVERY_MS) - OVERLAP_MS;
    const wentBack = readUntilMs !== null && nowMs < readUntilMs - AHEAD_MS;
    const isStart = readUntilMs === null || wentBack;
    const isWhole = isStart || nowMs - wholeAtMs >= WHOLE_EVERY_MS;
    // From the last whole read: an arrival that was not stored then is in the range of this one.
    const sinceMs = isWhole ? wholeAtMs - OVERLAP_MS : (readUntilMs ?? nowMs) - SHORT_OVERLAP_MS;
    const fromMs = isStart ? earliestMs : Math.min(sinceMs, nowMs - SHORT_OVERLAP_MS);
    const untilMs = nowMs + (isStart ? ALL_AHEAD_MS : READ_AHEAD_MS);
    const arrivals = await spans.arrivals(Math.max(fromMs, earliestMs), untilMs);
    for (const arrival of arrivals) {
      waitingSet.add(arrival);
    }
    readUntilMs = nowMs;
    wholeAtMs = isWhole ? nowMs : wholeAtMs;
    return { nowMs, gap: wentBack || fromMs < earliestMs };
  }

  return {
    tick,
    release: (nowMs) => waitingSet.release(nowMs),
    nextReadyInMs: (nowMs) => waitingSet.nextReadyInMs(nowMs),
    batchReadyInMs: (nowMs, traces) => waitingSet.batchReadyInMs(nowMs, traces),
    isWaiting: (key) => waitingSet.isWaiting(key),
    waiting: () => waitingSet.waiting(),
    oldestWaitMs() {
      const oldestMs = waitingSet.oldestMs();
      return oldestMs === null || readUntilMs === null ? null : Math.max(0, readUntilMs - oldestMs);
    },
    spilled: () => waitingSet.spilled(),
  };
}
