import { buildEndEvent, computeEventId } from './build-alert-event.ts';
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
  /** State of every rule on every series after the latest `advance`. */
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
    return { intervals, settled: false };
  }

  async function advance(): Promise<void> {
    const nowMs = await deps.store.nowMs();
    const current = (running ??= await start(nowMs));
    for (const interval of current.intervals) {
      await interval.advance(nowMs);
      warnOnce.overflow(interval.overflow());
    }
    // Only now: an incident of a bucket that was told and not yet marked as done is on again.
    current.settled ||= await settle(deps.store, current.intervals, nowMs);
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
  /** True when the last sent event matches the state. */
  settled: boolean;
}

/**
 * Ends what nobody watches any more, and goes on with what was ended so and is watched again. False where a process that is
 * ahead may know better, having told of what comes after all that is folded here: to be looked at again.
 */
async function settle(
  store: MonitorStore,
  intervals: readonly IntervalEvaluator[],
  nowMs: number,
): Promise<boolean> {
  const foldedUntilMs = Math.min(nowMs, ...intervals.map((interval) => interval.foldedUntilMs()));
  const incidents = () => intervals.flatMap((interval) => interval.incidents());
  // First: what goes on by another name is no orphan. Again, since that one may have been ended so, too.
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

/** Reads the end times of incidents, by id; incidents without an end are absent. */
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
 * Incidents of rules that are gone, paused or changed would stay open for ever at those who were told. They end with the last
 * bucket that is folded, so that two processes tell the same end; where nothing is folded any more, now.
 */
async function endOrphans(
  store: MonitorStore,
  on: ReadonlySet<string>,
  foldedUntilMs: number,
): Promise<boolean> {
  const unknown = (await store.alerts.open()).filter(({ incidentId }) => !on.has(incidentId));
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
