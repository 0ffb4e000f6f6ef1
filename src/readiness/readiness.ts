/** Waiting times of readiness. */
export interface ReadinessSettings {
  /** Quiet time before a trace is ready, milliseconds. */
  readonly decisionWaitMs: number;
  /** The longest that a trace is waited for, milliseconds since its first arrival. */
  readonly maxWaitMs: number;
}

/** Factor on the decision wait for a trace whose true root was not seen. */
export const ROOTLESS_WAITS = 6;

/** State of an arriving trace. */
export interface TraceState {
  /** A span without a parent has come; spans are sent when they end, so the run has ended. */
  readonly rootSeen: boolean;
  /** Some span's parent has not come yet. */
  readonly parentMissing: boolean;
  /** Since the last arrival, by the store's clock. */
  readonly quietMs: number;
  /** Since the first arrival that is not decided yet, by the store's clock. */
  readonly ageMs: number;
}

/** `ended` and `quiet` traces are complete as far as anyone can tell; one scored at `max_wait` is partial. */
export type ReadyBecause = 'ended' | 'quiet' | 'max_wait';

/** Reason why a trace can be scored now; null while it must wait. */
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
