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
  let running: readonly IntervalEvaluator[] | null = null;

  async function start(nowMs: number): Promise<readonly IntervalEvaluator[]> {
    const { store, turn } = deps;
    const onBucket = (rows: Iterable<SeriesBucket>) => warnOnce.refused(rows);
    const byInterval = Map.groupBy(groups, ({ intervalMs }) => intervalMs);
    const intervals = [...byInterval].map(
      ([intervalMs, members]) => new IntervalEvaluator(intervalMs, members, { store, turn, onBucket }),
    );
    for (const interval of intervals) {
      await interval.restore(nowMs);
    }
    await endOrphans(store, intervals, nowMs);
    return intervals;
  }

  async function advance(): Promise<void> {
    const nowMs = await deps.store.nowMs();
    running ??= await start(nowMs);
    for (const interval of running) {
      await interval.advance(nowMs);
      warnOnce.overflow(interval.overflow());
    }
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
    statuses: () => (running ?? []).flatMap((interval) => interval.statuses()),
  };
}

/** Incidents of rules that are gone, paused or changed would stay open for ever at those who were told. */
async function endOrphans(
  store: MonitorStore,
  intervals: readonly IntervalEvaluator[],
  nowMs: number,
): Promise<void> {
  const on = new Set(intervals.flatMap((interval) => interval.incidents()));
  const orphans = (await store.alerts.open()).filter(({ incidentId }) => !on.has(incidentId));
  await store.alerts.write(orphans.map((event) => endOf(event, nowMs)));
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
