/** Consecutive runs without a result in time after which a scorer pauses. */
const MAX_TIMEOUTS = 5;

/** Interval of the probe runs during a pause, milliseconds. */
export const PROBE_EVERY_MS = 60_000;

/** Pauses a scorer whose consecutive runs all time out. */
export interface PauseGate {
  /** Returns true when a run may begin; during a pause, one run a minute may. */
  admits(nowMs: number): boolean;
  isPaused(): boolean;
  /** Counts a run that timed out. Returns true when the scorer pauses from now on. */
  countTimeout(nowMs: number): boolean;
  /** Counts a run that ended in time, with or without a result. Returns true when this ends a pause. */
  countEnd(): boolean;
}

export function createPauseGate(): PauseGate {
  let timeouts = 0;
  let nextProbeMs = 0;
  const isPaused = () => timeouts >= MAX_TIMEOUTS;
  return {
    isPaused,
    admits(nowMs) {
      if (!isPaused()) {
        return true;
      }
      if (nowMs < nextProbeMs) {
        return false;
      }
      nextProbeMs = nowMs + PROBE_EVERY_MS;
      return true;
    },
    countTimeout(nowMs) {
      timeouts += 1;
      nextProbeMs = Math.max(nextProbeMs, nowMs + PROBE_EVERY_MS);
      return timeouts === MAX_TIMEOUTS;
    },
    countEnd() {
      const wasPaused = isPaused();
      timeouts = 0;
      return wasPaused;
    },
  };
}
