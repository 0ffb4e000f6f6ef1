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
