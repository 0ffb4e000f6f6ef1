import { isDeepStrictEqual } from 'node:util';
import { type SeriesFacets, seriesSplitBy, type SplitFacet } from '../../../src/domain/series-facets.ts';
import { type AlertEvent } from '../../../src/monitors/alert-event.ts';
import { buildHistogram, NO_OUTCOMES } from '../../../src/monitors/bucket.ts';
import type {
  Checkpoint,
  JudgeDrift,
  MonitorStore,
  ProcessRun,
  SeriesBucket,
} from '../../../src/monitors/monitor-store.ts';
import type { MonitorStatus } from '../../../src/monitors/monitor-status.ts';
import { computeSeriesKey } from '../../../src/monitors/series-key.ts';
import { createEvaluator, type Evaluator, type EvaluatorDeps } from '../../../src/monitors/evaluator.ts';
import type { MonitorGroup } from '../../../src/monitors/rule.ts';
import { HOUR_MS } from '../monitors/hourly-monitors.ts';

export const A_SERIES: SeriesFacets = {
  tenant: '',
  scorer: 'grounding',
  fingerprint: 'f1',
  agent: 'weather',
  environment: 'production',
};

const NOTHING_ASIDE = { refused: 0, repeated: 0, rescored: 0, late: 0, notUniform: 0, notLive: 0 };

/** Store of monitors in memory. The test sets its time. Counts its writes, and can fail at one of them. */
export class MemoryMonitors implements MonitorStore {
  clockMs = 0;
  readonly events = new Map<string, AlertEvent>();
  readonly acks = new Map<string, number>();
  readonly statuses = new Map<string, MonitorStatus>();
  readonly checkpoints = new Map<string, Checkpoint>();
  /** Ids of events that were written again with another content. Somebody may have received the first content. */
  readonly changedEvents: string[] = [];
  writes = 0;
  /** Number of the write, from 1, at which the process ends: the write is done, but its caller gets no confirmation. */
  endsAfterWrite = Number.POSITIVE_INFINITY;
  readonly #arrivals: { series: SeriesFacets; atMs: number; scores: readonly number[] }[] = [];
  readonly #buckets = new Map<string, SeriesBucket>();
  readonly #progress = new Map<number, number>();

  scored(atMs: number, scores: readonly number[], series: Partial<SeriesFacets> = {}): void {
    this.#arrivals.push({ series: { ...A_SERIES, ...series }, atMs, scores });
  }

  nowMs = () => Promise.resolve(this.clockMs);
  firstArrivalMs = () => Promise.resolve(findLeast(this.#arrivals.map(({ atMs }) => atMs)));
  firstBucketMs = () =>
    Promise.resolve(findLeast([...this.#buckets.values()].map(({ bucket }) => bucket.startMs)));
  /** Runs of processes; none: nothing is known of them. */
  processRuns: ProcessRun[] = [];
  runs = () => Promise.resolve(this.processRuns);
  progress = (intervalMs: number) => Promise.resolve(this.#progress.get(intervalMs) ?? null);

  markProgress(intervalMs: number, bucketMs: number) {
    return this.#write(() => void this.#progress.set(intervalMs, bucketMs));
  }

  close({ intervalMs, fromMs, toMs }: Parameters<MonitorStore['close']>[0], by: readonly SplitFacet[]) {
    return this.#write(() => {
      const within = this.#arrivals.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
      const grouped = Map.groupBy(within, ({ series, atMs }) => {
        const startMs = Math.floor(atMs / intervalMs) * intervalMs;
        return `${startMs} ${computeSeriesKey(seriesSplitBy(series, by))}`;
      });
      for (const [key, arrivals] of grouped) {
        const [first] = arrivals;
        const scores = arrivals.flatMap((arrival) => arrival.scores);
        const startMs = Number(key.split(' ')[0]);
        this.#buckets.set(key, {
          series: seriesSplitBy(first?.series ?? A_SERIES, by),
          bucket: {
            startMs,
            scores: buildHistogram(scores),
            outcomes: { ...NO_OUTCOMES, scored: scores.length },
          },
          aside: NOTHING_ASIDE,
        });
      }
    });
  }

  async *buckets({ fromMs, toMs }: Parameters<MonitorStore['buckets']>[0], series?: SeriesFacets) {
    yield [...this.#buckets.values()]
      .filter(({ bucket }) => bucket.startMs >= fromMs && bucket.startMs < toMs)
      .filter((row) => series === undefined || computeSeriesKey(row.series) === computeSeriesKey(series))
      .sort((a, b) => a.bucket.startMs - b.bucket.startMs);
  }

  checkpoint = (ruleKey: string) => Promise.resolve(this.checkpoints.get(ruleKey) ?? null);

  writeCheckpoint(ruleKey: string, checkpoint: Checkpoint) {
    return this.#write(() => void this.checkpoints.set(ruleKey, checkpoint));
  }

  writeStatus(statuses: readonly MonitorStatus[]) {
    return this.#write(() =>
      statuses.forEach((status) =>
        this.statuses.set(`${status.ruleKey} ${computeSeriesKey(status.series)}`, status),
      ),
    );
  }

  explain = () => Promise.resolve({ worstTraces: [], cause: null, serviceVersion: '', agentVersion: '' });

  countLate = () => Promise.resolve(0);
  /** True: the judges of all series have anchors. */
  isAnchored = false;
  hasAnchors = () => Promise.resolve(this.isAnchored);
  judgeDrifts: JudgeDrift[] = [];

  readonly alerts: MonitorStore['alerts'] = {
    write: (events) => this.#write(() => events.forEach((event) => this.#recordEvent(event))),
    known: (ids) => Promise.resolve(new Set(ids.filter((id) => this.events.has(id)))),
    open: () => Promise.resolve(this.open()),
    incident: (id) => Promise.resolve([...this.events.values()].filter((event) => event.incidentId === id)),
    acknowledged: () => Promise.resolve(new Map(this.acks)),
    judgeDrifts: () => Promise.resolve(this.judgeDrifts),
  };

  open(): AlertEvent[] {
    const all = [...this.events.values()];
    const ended = new Set(
      all.flatMap(({ status, incidentId }) => (status === 'resolved' ? [incidentId] : [])),
    );
    return all.filter(({ status, incidentId }) => status === 'firing' && !ended.has(incidentId));
  }

  /** Returns the written alert events, in order of time. */
  writtenAlerts(): Pick<AlertEvent, 'id' | 'status' | 'startsAtMs' | 'endsAtMs' | 'alert'>[] {
    return [...this.events.values()]
      .map(({ id, status, startsAtMs, endsAtMs, alert }) => ({ id, status, startsAtMs, endsAtMs, alert }))
      .sort((a, b) => (a.endsAtMs ?? a.startsAtMs) - (b.endsAtMs ?? b.startsAtMs) || (a.id < b.id ? -1 : 1));
  }

  #recordEvent(event: AlertEvent): void {
    const before = this.events.get(event.id);
    if (before !== undefined && !isDeepStrictEqual(before, event)) {
      this.changedEvents.push(event.id);
    }
    this.events.set(event.id, event);
  }

  async #write(change: () => void): Promise<void> {
    this.writes += 1;
    change();
    if (this.writes === this.endsAfterWrite) {
      throw new Error('the process ended here');
    }
  }
}

function findLeast(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

/** Start of the first hour of these stores. */
export const MEMORY_START_MS = Date.UTC(2026, 0, 1);

/** Sets the clock so that the buckets of the hours before this one can be closed. */
export function closeHour(store: MemoryMonitors, hour: number): void {
  store.clockMs = MEMORY_START_MS + hour * HOUR_MS + 61_000;
}

export function buildEvaluator(
  store: MemoryMonitors,
  groups: readonly MonitorGroup[],
  judges?: EvaluatorDeps['judges'],
): Evaluator {
  return createEvaluator(groups, { store, turn: () => Promise.resolve(), warn: () => undefined, judges });
}

/** Evaluates hour by hour, with a new evaluator whenever one ends. Returns the number of ends. */
export async function runHourly(
  store: MemoryMonitors,
  groups: readonly MonitorGroup[],
  toHour: number,
): Promise<number> {
  let evaluator = buildEvaluator(store, groups);
  let ends = 0;
  for (let hour = 0; hour <= toHour; hour += 1) {
    closeHour(store, hour);
    for (let done = false; !done;) {
      try {
        await evaluator.advance();
        done = true;
      } catch {
        ends += 1;
        evaluator = buildEvaluator(store, groups);
      }
    }
  }
  return ends;
}
