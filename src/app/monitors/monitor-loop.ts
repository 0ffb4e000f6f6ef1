import { setImmediate as pause } from 'node:timers/promises';
import { createEvaluator } from '../../monitors/evaluator.ts';
import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { MonitorGroup } from '../../monitors/rule.ts';
import type { Timers } from '../../scoring/live/timers.ts';
import type { Log } from '../../telemetry/log.ts';
import { repeatCheck } from '../repeat-check.ts';

/** Interval of the checks for a closed bucket, milliseconds. */
const LOOK_EVERY_MS = 5_000;

export interface MonitorLoopDeps {
  readonly store: MonitorStore;
  /**
   * Returns true when this process is the evaluator among the scorer processes on one store. Two evaluators for a moment do
   * the same work with the same result. Throws when the store does.
   */
  readonly isEvaluator: () => Promise<boolean>;
  readonly log: Log;
  readonly timers?: Timers;
}

/** Running evaluation of monitors. */
export interface MonitorLoop {
  /** Stops within a bucket; the next start folds that bucket again. */
  stop(): Promise<void>;
  /** States of the rules; empty while another process is the evaluator. */
  statuses(): MonitorStatus[];
}

/** Starts to evaluate monitors when their buckets close. Retries failures from the stored state. */
export function startMonitorLoop(groups: readonly MonitorGroup[], deps: MonitorLoopDeps): MonitorLoop {
  const { store, isEvaluator, log, timers } = deps;
  const stopping = new AbortController();
  const evaluator = createEvaluator(groups, {
    store,
    async turn() {
      await pause();
      stopping.signal.throwIfAborted();
    },
    warn: (message, fields) => log.warn(message, fields),
  });

  async function look(): Promise<void> {
    if (await isEvaluator()) {
      await evaluator.advance();
    } else {
      evaluator.forget();
    }
  }

  const looks = repeatCheck(look, {
    everyMs: LOOK_EVERY_MS,
    failing: 'monitors wait',
    stopping,
    log,
    timers,
  });
  return {
    ...looks,
    statuses: () => evaluator.statuses(),
  };
}
