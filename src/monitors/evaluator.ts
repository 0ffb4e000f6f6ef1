import { endOf } from './alert-event-of.ts';
import { IntervalEvaluator } from './interval-evaluator.ts';
import type { MonitorStore, SeriesBucket } from './monitor-store.ts';
import type { MonitorStatus } from './monitor-status.ts';
import type { MonitorGroup } from './rule.ts';

export interface EvaluatorDeps {
  readonly store: MonitorStore;
  /** Lets other work have its turn; called after every bucket. */
  readonly turn: () => Promise<void>;
  /** Tells people what keeps a monitor from seeing scores. */
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** Monitors of all groups on the live store. */
export interface Evaluator {
  /** Folds every bucket that is closed by now. Throws what the store throws; then the next call starts from what is stored. */
  advance(): Promise<void>;
  /** Lets go of all states, because another process evaluates now: the next `advance` starts from what is stored. */
  forget(): void;
  /** Where every rule stands on every series, as of the latest `advance`. */
  statuses(): MonitorStatus[];
}

/** Nothing is read before the first `advance`. */
export function createEvaluator(groups: readonly MonitorGroup[], deps: EvaluatorDeps): Evaluator {
  const warnOnce = createWarnings(deps.warn);
  let running: Running | null = null;

  async function start(nowMs: number): Promise<Running> {
    const { store, turn } = deps;
    const onBucket = (rows: Iterable<SeriesBucket>) => warnOnce.refused(rows);
    const byInterval = Map.groupBy(groups, ({ intervalMs }) => intervalMs);
    const intervals = [...byInterval].map(
      ([intervalMs, members]) => new IntervalEvaluator(intervalMs, members, { store, turn, onBucket }),
    );
    for (const interval of intervals) {
      await interval.restore(nowMs);
    }
    return { intervals, orphansEnded: false };
  }

  async function advance(): Promise<void> {
    const nowMs = await deps.store.nowMs();
    const current = (running ??= await start(nowMs));
    for (const interval of current.intervals) {
      await interval.advance(nowMs);
      warnOnce.overflow(interval.overflow());
    }
    // Only now: an incident of a bucket that was told and not yet marked as done is on again.
    current.orphansEnded ||= await endOrphans(deps.store, current.intervals, nowMs);
  }

  return {
    async advance() {
      try {
        await advance();
      } catch (error) {
        // What is in memory may be ahead of what is stored.
        running = null;
        throw error;
      }
    },
    forget: () => (running = null),
    statuses: () => (running?.intervals ?? []).flatMap((interval) => interval.statuses()),
  };
}

interface Running {
  readonly intervals: readonly IntervalEvaluator[];
  orphansEnded: boolean;
}

/**
 * Incidents of rules that are gone, paused or changed would stay open for ever at those who were told. They end with the last
 * bucket that is folded, so that two processes tell the same end; where nothing is folded any more, now. One that began after
 * all that is folded here may be known to a process that is ahead: false where there is such a one, to be looked at again.
 */
async function endOrphans(
  store: MonitorStore,
  intervals: readonly IntervalEvaluator[],
  nowMs: number,
): Promise<boolean> {
  const on = new Set(intervals.flatMap((interval) => interval.incidents()));
  const foldedUntilMs = Math.min(nowMs, ...intervals.map((interval) => interval.foldedUntilMs()));
  const unknown = (await store.alerts.open()).filter(({ incidentId }) => !on.has(incidentId));
  const orphans = unknown.filter(({ startsAtMs }) => startsAtMs <= foldedUntilMs);
  await store.alerts.write(orphans.map((event) => endOf(event, foldedUntilMs)));
  return orphans.length === unknown.length;
}

function createWarnings(warn: EvaluatorDeps['warn']) {
  const refused = new Set<string>();
  let overflowed = false;
  return {
    refused(rows: Iterable<SeriesBucket>) {
      for (const { series, aside } of rows) {
        if (aside.refused > 0 && !refused.has(series.scorer)) {
          refused.add(series.scorer);
          warn('monitors cannot watch a scorer without a range and a direction; declare both', {
            scorer: series.scorer,
          });
        }
      }
    },
    overflow(count: number) {
      if (count > 0 && !overflowed) {
        overflowed = true;
        warn('there are more series than monitors watch; name scorer, agent or environment in the rules', {
          leftOut: count,
        });
      }
    },
  };
}
