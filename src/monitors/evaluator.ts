import { buildEndEvent, computeEventId } from './build-alert-event.ts';
import { IntervalEvaluator } from './interval-evaluator.ts';
import type { MonitorStore, SeriesBucket } from './monitor-store.ts';
import type { MonitorStatus } from './monitor-status.ts';
import type { MonitorGroup } from './rule.ts';

export interface EvaluatorDeps {
  readonly store: MonitorStore;
  /** Lets other work run; called after every bucket. */
  readonly turn: () => Promise<void>;
  /** Logs a reason why a monitor does not get scores. */
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** Monitors of all groups on the live store. */
export interface Evaluator {
  /**
   * Folds every bucket that is closed by now. Throws the errors of the store; the next call then starts from the stored state.
   */
  advance(): Promise<void>;
  /** Drops all states, because another process evaluates now: the next `advance` starts from the stored state. */
  forget(): void;
  /** State of every rule on every series after the latest `advance`. */
  statuses(): MonitorStatus[];
}

/** Creates the evaluator. It reads nothing before the first `advance`. */
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
    return { intervals, settled: false };
  }

  async function advance(): Promise<void> {
    const nowMs = await deps.store.nowMs();
    const current = (running ??= await start(nowMs));
    for (const interval of current.intervals) {
      await interval.advance(nowMs);
      warnOnce.overflow(interval.overflow());
    }
    // Done only now: an incident of a bucket whose events are stored, but which is not marked as done, is open again by now.
    current.settled ||= await settle(deps.store, current.intervals, nowMs);
  }

  return {
    async advance() {
      try {
        await advance();
      } catch (error) {
        // The state in memory may be ahead of the stored state.
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
  /** True when the last stored event of every incident matches the state. */
  settled: boolean;
}

/**
 * Ends incidents that no rule watches any more, and reopens incidents that were ended this way and are watched again. Returns
 * false when a process that is ahead has stored events after all buckets folded here: then it must be called again.
 */
async function settle(
  store: MonitorStore,
  intervals: readonly IntervalEvaluator[],
  nowMs: number,
): Promise<boolean> {
  const foldedUntilMs = Math.min(nowMs, ...intervals.map((interval) => interval.foldedUntilMs()));
  const incidents = () => intervals.flatMap((interval) => interval.incidents());
  // Reopened first: an incident that continues under another id has a rule. Read again, because that one may have been ended
  // too.
  let ends = await readEnds(store, incidents());
  for (let reopened = ends.size; reopened > 0; ends = await readEnds(store, incidents())) {
    reopened = 0;
    for (const interval of intervals) {
      reopened += await interval.reopen(ends, foldedUntilMs);
    }
  }
  const orphansEnded = await endOrphans(store, new Set(incidents()), foldedUntilMs);
  return orphansEnded && ends.size === 0;
}

/** Reads the end times of incidents by id; open incidents are absent. */
async function readEnds(
  { alerts }: Pick<MonitorStore, 'alerts'>,
  incidentIds: readonly string[],
): Promise<Map<string, number>> {
  const known = await alerts.known(
    incidentIds.map((incidentId) => computeEventId({ incidentId, to: 'resolved' })),
  );
  const ends = new Map<string, number>();
  for (const incidentId of incidentIds) {
    if (known.has(computeEventId({ incidentId, to: 'resolved' }))) {
      const [end] = (await alerts.incident(incidentId)).filter(({ status }) => status === 'resolved');
      ends.set(incidentId, end?.endsAtMs ?? 0);
    }
  }
  return ends;
}

/**
 * Ends incidents of rules that were removed, paused or changed; without this they would stay open at the receivers for ever.
 * They end with the last folded bucket, so that two processes write the same end; where no bucket is folded any more, they end
 * now.
 */
async function endOrphans(
  store: MonitorStore,
  on: ReadonlySet<string>,
  foldedUntilMs: number,
): Promise<boolean> {
  const ofRules = (await store.alerts.open()).filter(({ budget }) => budget === undefined);
  const unknown = ofRules.filter(({ incidentId }) => !on.has(incidentId));
  const orphans = unknown.filter(({ startsAtMs }) => startsAtMs <= foldedUntilMs);
  await store.alerts.write(orphans.map((event) => buildEndEvent(event, foldedUntilMs)));
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
