/** Interval of the reads of arrivals, milliseconds. */
export const TICK_MS = 1_000;

/** Shortest sleep between two batches, milliseconds. */
export const SHORTEST_SLEEP_MS = 20;

/**
 * Time between two batches for each trace of the last one, milliseconds. A single trace is scored at once when it is ready; many
 * are scored together, because a batch costs the store the same for one trace and for many.
 */
const GATHER_MS_PER_TRACE = 100;

/** Longest time between two batches, milliseconds. */
const MAX_GATHER_MS = 2_000;

/** Traces of a batch that is large enough: gathering ends, and the next batch comes after a tick. */
const LARGE_BATCH = 100;

/** Times of the batches of ready traces: while traces gather, none is taken. */
export interface BatchPace {
  /** Time until the next batch may begin, milliseconds; 0 or less when it may begin now. */
  restMs(): number;
  /** Begins a batch of so many traces. */
  begin(traces: number): void;
}

/** @param readyInMs time until so many traces are ready, milliseconds; null when it is not known */
export function createBatchPace(
  monotonicMs: () => number,
  readyInMs: (traces: number) => number | null,
): BatchPace {
  let nextMs = Number.NEGATIVE_INFINITY;
  let isGathering = false;
  return {
    restMs() {
      const restMs = nextMs - monotonicMs();
      return isGathering && restMs > 0 ? Math.min(restMs, readyInMs(LARGE_BATCH) ?? Infinity) : restMs;
    },
    begin(traces) {
      isGathering = traces < LARGE_BATCH;
      nextMs =
        monotonicMs() + (isGathering ? Math.min(GATHER_MS_PER_TRACE * traces, MAX_GATHER_MS) : TICK_MS);
    },
  };
}
