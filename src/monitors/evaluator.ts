import type { SplitFacet } from '../domain/series-facets.ts';
import { type AlertEvent, JUDGE_DETECTOR } from './alert-event.ts';
import type { Bucket } from './bucket.ts';
import {
  type AlertJudges,
  buildAlertEvent,
  buildEndEvent,
  buildEndOf,
  computeEventId,
} from './build-alert-event.ts';
import {
  foldGroup,
  type GroupWatch,
  type IncidentChange,
  findIncident,
  restoreStates,
  reopen,
  repinBaseline,
  type RuleWatch,
  type SeriesWatch,
  share,
  buildStates,
  watchGroup,
} from './group-watch.ts';
import type { BucketRange, JudgeDrift, MonitorStore, ProcessRun, SeriesBucket } from './monitor-store.ts';
import type { MonitorStatus } from './monitor-status.ts';
import { isPinnable, type MonitorGroup, buildSplits } from './rule.ts';
import type { Phase } from './series.ts';
import { DAY_MS, HOUR_MS } from '../domain/durations.ts';
import { computeSeriesKey } from './series-key.ts';

export interface EvaluatorDeps {
  readonly store: MonitorStore;
  /** Lets other work run; called after every bucket. */
  readonly turn: () => Promise<void>;
  /** Logs a reason why a monitor does not get scores. */
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Returns what alerts ask about judges. Absent: nothing. */
  readonly judges?: (() => AlertJudges) | undefined;
}

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
    const { store, turn, judges } = deps;
    const onBucket = (rows: Iterable<SeriesBucket>) => warnOnce.refused(rows);
    const byInterval = Map.groupBy(groups, ({ intervalMs }) => intervalMs);
    const intervals = [...byInterval].map(
      ([intervalMs, members]) =>
        new IntervalEvaluator(intervalMs, members, { store, turn, judges, onBucket }),
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
  const ofRules = (await store.alerts.open()).filter(
    ({ budget, detector, issue }) =>
      budget === undefined && issue === undefined && detector !== JUDGE_DETECTOR,
  );
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

/** Least and greatest length of time that is closed or read with one query, and the time of a query after which the next is longer; milliseconds. */
const WINDOW = { leastMs: 6 * HOUR_MS, mostMs: 4 * DAY_MS, quickMs: 1_000 };

/** Time after its end at which a bucket is closed, milliseconds; longer than any insert takes. */
const CLOSE_AFTER_MS = 60_000;

/** Pause between two runs that counts as none: one process hands over to the next within it, milliseconds. */
const RUN_PAUSE_MS = 20_000;

/** Age of a bucket up to which the store knows all runs, milliseconds: a beat expires a day after it. */
const RUNS_KNOWN_MS = DAY_MS;

/** Interval at which states are stored; later buckets are folded again at a start, milliseconds. */
const CHECKPOINT_EVERY_MS = HOUR_MS;

interface IntervalDeps extends Pick<EvaluatorDeps, 'store' | 'turn' | 'judges'> {
  readonly onBucket: (rows: Iterable<SeriesBucket>) => void;
}

/**
 * Monitors whose buckets have one length. The results of each step are written in this order: buckets, events, status,
 * checkpoint, progress. Each step can be repeated: after a crash between two writes, a repeat from the stored state gives the
 * same result.
 */
class IntervalEvaluator {
  readonly #intervalMs: number;
  readonly #groups: readonly GroupWatch[];
  /** Splits of buckets: none, and each split that a rule uses. */
  readonly #splits: readonly (readonly SplitFacet[])[];
  readonly #deps: IntervalDeps;
  readonly #reported = new WeakMap<SeriesWatch, Phase>();
  #progressMs = 0;
  #checkpointMs = 0;

  constructor(intervalMs: number, groups: readonly MonitorGroup[], deps: IntervalDeps) {
    this.#intervalMs = intervalMs;
    this.#groups = groups.map(watchGroup);
    this.#splits = buildSplits(this.#rules().map(({ rule }) => rule.rule));
    this.#deps = deps;
  }

  /**
   * Restores the state at the stored progress, from the latest checkpoints and the buckets since then. Incidents that a new
   * rule finds in the past are sent when they are still open.
   */
  async restore(nowMs: number): Promise<void> {
    const { store } = this.#deps;
    const progressMs = (await store.progress(this.#intervalMs)) ?? (await this.#begin(nowMs));
    const marks = await Promise.all(this.#rules().map(({ rule }) => this.#load(rule)));
    await this.#closeMissing(progressMs);
    const fromMs = await this.#replayFrom(marks);
    const changes: IncidentChange[] = [];
    if (fromMs !== null) {
      this.#groups.forEach(share);
      const range = { intervalMs: this.#intervalMs, fromMs, toMs: progressMs + this.#intervalMs };
      const accepted = await readAccepted(store);
      const runs = await store.runs();
      for await (const bucket of storedBuckets(store, range)) {
        const isKnown = nowMs - bucket.startMs < RUNS_KNOWN_MS;
        changes.push(...(await this.#fold(bucket, accepted, isKnown && !this.#isObserved(bucket, runs))));
      }
    }
    await this.#writeEvents(await this.#stillToTell(changes));
    this.#progressMs = progressMs;
    await this.#writeStates(progressMs, true);
  }

  async advance(nowMs: number): Promise<void> {
    const { store } = this.#deps;
    const intervalMs = this.#intervalMs;
    const toMs = this.#lastClosed(nowMs) + intervalMs;
    for (const window of splitIntoWindows({ intervalMs, fromMs: this.#progressMs + intervalMs, toMs })) {
      for (const by of this.#splits) {
        await store.close(window, by);
      }
      const accepted = await readAccepted(store);
      const runs = await store.runs();
      const changes: IncidentChange[] = [];
      for await (const bucket of storedBuckets(store, window)) {
        this.#deps.onBucket(bucket.received.values());
        changes.push(...(await this.#fold(bucket, accepted, !this.#isObserved(bucket, runs))));
      }
      await this.#writeEvents(await this.#untold(changes));
      const latestMs = window.toMs - intervalMs;
      const isDue = Math.floor(window.toMs / CHECKPOINT_EVERY_MS) > this.#checkpointMs / CHECKPOINT_EVERY_MS;
      await this.#writeStates(latestMs, isDue);
      await store.markProgress(intervalMs, latestMs);
      this.#progressMs = latestMs;
    }
  }

  foldedUntilMs(): number {
    return this.#progressMs + this.#intervalMs;
  }

  /**
   * Reopens, as another incident, each open incident that another process ended while its rule was removed.
   * @param ends end times by the id of the incident, Unix milliseconds
   * @param untilMs incidents that ended later are not reopened
   * @returns the number of reopened incidents
   */
  async reopen(ends: ReadonlyMap<string, number>, untilMs: number): Promise<number> {
    const changes = this.#watches().flatMap(({ rule, watch }) => {
      const endedMs = ends.get(findIncident(rule, watch) ?? '');
      if (endedMs === undefined || endedMs > untilMs || endedMs <= (watch.startsAtMs ?? endedMs)) {
        return [];
      }
      this.#reported.delete(watch);
      return reopen(rule, watch, endedMs);
    });
    if (changes.length > 0) {
      await this.#writeEvents(await this.#untold(changes));
    }
    return changes.length;
  }

  incidents(): string[] {
    return this.#watches().flatMap(({ rule, watch }) => findIncident(rule, watch) ?? []);
  }

  statuses(): MonitorStatus[] {
    return this.#watches().map(({ group, rule, watch }) => buildStatus(group, rule, watch));
  }

  /** Returns the number of series that are not watched because there are too many. */
  overflow(): number {
    return this.#groups.reduce((sum, group) => sum + group.overflow, 0);
  }

  #rules(): { group: GroupWatch; rule: RuleWatch }[] {
    return this.#groups.flatMap((group) => group.rules.map((rule) => ({ group, rule })));
  }

  #watches(): { group: GroupWatch; rule: RuleWatch; watch: SeriesWatch }[] {
    return this.#rules().flatMap(({ group, rule }) =>
      [...rule.series.values()].map((watch) => ({ group, rule, watch })),
    );
  }

  /** True when processes ran for the whole bucket, short pauses apart, or when nothing is known of runs. */
  #isObserved({ startMs }: ReceivedBucket, runs: readonly ProcessRun[]): boolean {
    let coveredMs = startMs;
    for (const { fromMs, toMs } of runs) {
      coveredMs = fromMs <= coveredMs + RUN_PAUSE_MS ? Math.max(coveredMs, toMs) : coveredMs;
    }
    return runs.length === 0 || coveredMs + RUN_PAUSE_MS >= startMs + this.#intervalMs;
  }

  #lastClosed(nowMs: number): number {
    return Math.floor((nowMs - CLOSE_AFTER_MS) / this.#intervalMs - 1) * this.#intervalMs;
  }

  /** Finds where to begin. Incidents that ended before monitors were first switched on are never sent. */
  async #begin(nowMs: number): Promise<number> {
    const lastMs = this.#lastClosed(nowMs);
    await this.#deps.store.markProgress(this.#intervalMs, lastMs);
    return lastMs;
  }

  /**
   * Closes the buckets that rules need and that no process has closed: all buckets where no rule was evaluated before, and the
   * buckets of a split since none of its rules was evaluated.
   */
  async #closeMissing(progressMs: number): Promise<void> {
    const { store } = this.#deps;
    const intervalMs = this.#intervalMs;
    const firstMs = await store.firstArrivalMs();
    if (firstMs === null) {
      return;
    }
    const rules = this.#rules().map(({ rule }) => rule);
    const oldestMs = Math.floor(firstMs / intervalMs) * intervalMs;
    for (const by of this.#splits) {
      const asking =
        by.length === 0 ? rules : rules.filter(({ rule }) => rule.split?.by.join() === by.join());
      const doneMs = Math.max(...asking.map(({ foldedMs }) => foldedMs));
      const fromMs = Math.max(oldestMs, doneMs + intervalMs);
      const isClosed = by.length === 0 && Number.isFinite(doneMs);
      for (const window of isClosed
        ? []
        : splitIntoWindows({ intervalMs, fromMs, toMs: progressMs + intervalMs })) {
        await store.close(window, by);
      }
    }
  }

  async #replayFrom(marks: readonly (number | null)[]): Promise<number | null> {
    const known = marks.filter((mark) => mark !== null);
    return known.length === marks.length && known.length > 0
      ? Math.min(...known) + this.#intervalMs
      : this.#deps.store.firstBucketMs(this.#intervalMs);
  }

  async #load(rule: RuleWatch): Promise<number | null> {
    const checkpoint = await this.#deps.store.checkpoint(rule.key);
    if (checkpoint === null) {
      return null;
    }
    restoreStates(rule, checkpoint);
    return checkpoint.bucketMs;
  }

  async #fold(
    { startMs, received }: ReceivedBucket,
    accepted: Accepted,
    isUnobserved: boolean,
  ): Promise<IncidentChange[]> {
    const changes: IncidentChange[] = [];
    for (const group of this.#groups) {
      for (const { rule, watch, beganMs } of acceptedIn(group, accepted, startMs)) {
        const buckets = await this.#listBuckets(watch, beganMs, startMs);
        changes.push(...repinBaseline(rule, watch, buckets, startMs));
      }
      changes.push(...foldGroup(group, startMs, received, isUnobserved));
    }
    await this.#deps.turn();
    return changes;
  }

  async #listBuckets({ series }: SeriesWatch, fromMs: number, toMs: number): Promise<Bucket[]> {
    const range: BucketRange = { intervalMs: this.#intervalMs, fromMs, toMs };
    const found: Bucket[] = [];
    for await (const rows of this.#deps.store.buckets(range, series)) {
      found.push(...rows.map(({ bucket }) => bucket));
    }
    return found;
  }

  /**
   * Selects the changes of a replay that must be sent: beginnings of incidents that are still open, and ends of incidents whose
   * beginning was sent.
   */
  async #stillToTell(changes: readonly IncidentChange[]): Promise<IncidentChange[]> {
    const begun = await this.#deps.store.alerts.known(
      changes.map(({ incidentId }) => computeEventId({ incidentId, to: 'firing' })),
    );
    const on = new Set(this.incidents());
    const due = changes.filter(({ incidentId, to }) =>
      to === 'firing' ? on.has(incidentId) : begun.has(computeEventId({ incidentId, to: 'firing' })),
    );
    return this.#untold(due);
  }

  /** Removes changes that were sent before, so that an incident which ended while its rule was absent does not end twice. */
  async #untold(changes: readonly IncidentChange[]): Promise<IncidentChange[]> {
    const known = await this.#deps.store.alerts.known(changes.map(computeEventId));
    return changes.filter((change) => !known.has(computeEventId(change)));
  }

  async #writeEvents(changes: readonly IncidentChange[]): Promise<void> {
    const { store, judges } = this.#deps;
    const events: AlertEvent[] = [];
    for (const change of changes) {
      const event = await buildAlertEvent(change, store, judges?.());
      const begin = event.status === 'firing' ? undefined : await this.#findBegin(event, events);
      events.push(begin === undefined ? event : buildEndOf(begin, event));
    }
    await store.alerts.write(events);
  }

  async #findBegin({ incidentId }: AlertEvent, written: readonly AlertEvent[]) {
    const isBegin = (each: AlertEvent) => each.incidentId === incidentId && each.status === 'firing';
    return written.find(isBegin) ?? (await this.#deps.store.alerts.incident(incidentId)).find(isBegin);
  }

  async #writeStates(bucketMs: number, isCheckpoint: boolean): Promise<void> {
    const { store } = this.#deps;
    const changed = this.#watches().filter(
      ({ watch }) => isCheckpoint || this.#reported.get(watch) !== watch.state.phase,
    );
    await store.writeStatus(changed.map(({ group, rule, watch }) => buildStatus(group, rule, watch)));
    changed.forEach(({ watch }) => this.#reported.set(watch, watch.state.phase));
    if (isCheckpoint) {
      for (const { rule } of this.#rules()) {
        await store.writeCheckpoint(rule.key, { bucketMs, states: buildStates(rule) });
      }
      this.#checkpointMs = bucketMs + this.#intervalMs;
    }
  }
}

/** Changes that people accepted as normal: of series by incident, and of judges. */
interface Accepted {
  /** Time of the acknowledgement by incident, Unix milliseconds. */
  readonly incidents: ReadonlyMap<string, number>;
  readonly judges: readonly JudgeDrift[];
}

async function readAccepted({ alerts }: Pick<MonitorStore, 'alerts'>): Promise<Accepted> {
  const [incidents, judges] = await Promise.all([alerts.acknowledged(), alerts.judgeDrifts()]);
  return { incidents, judges: judges.filter(({ acknowledgedMs }) => acknowledgedMs !== null) };
}

/**
 * Lists the series that get a new reference with a bucket: those whose incident, or a change of whose judge, was accepted before it is
 * closed.
 */
function acceptedIn(
  { group, rules }: GroupWatch,
  { incidents, judges }: Accepted,
  startMs: number,
): { rule: RuleWatch; watch: SeriesWatch; beganMs: number }[] {
  if (incidents.size === 0) {
    return [];
  }
  const closedMs = startMs + group.intervalMs + CLOSE_AFTER_MS;
  return rules
    .filter(({ rule }) => isPinnable(rule.detection))
    .flatMap((rule) =>
      [...rule.series.values()].flatMap((watch) => {
        const ofJudge = judges.find((drift) => isNewTo(watch, drift, closedMs));
        const judgeSinceMs = ofJudge?.acknowledgedMs ?? watch.judgeSinceMs;
        if (judgeSinceMs !== undefined) {
          watch.judgeSinceMs = judgeSinceMs;
        }
        const ackedMs = incidents.get(findIncident(rule, watch) ?? '') ?? Number.POSITIVE_INFINITY;
        const beganMs =
          ackedMs < closedMs
            ? (watch.state.finding?.changeBeganMs ?? startMs)
            : ofJudge?.firing.changeBeganMs;
        return beganMs === undefined ? [] : [{ rule, watch, beganMs }];
      }),
    );
}

/** Returns true for an accepted change of the judge of a series that the series was there for, and has not followed. */
function isNewTo(
  { series, judgeSinceMs, addedMs }: SeriesWatch,
  { firing, acknowledgedMs }: JudgeDrift,
  closedMs: number,
): boolean {
  return (
    acknowledgedMs !== null &&
    firing.series.fingerprint === series.fingerprint &&
    acknowledgedMs < closedMs &&
    acknowledgedMs > (judgeSinceMs ?? addedMs)
  );
}

/** Builds the state of a rule on a series, in numbers and words. */
function buildStatus({ group }: GroupWatch, rule: RuleWatch, watch: SeriesWatch): MonitorStatus {
  const { state, series, mean } = watch;
  const condition = rule.detector.condition(state.detector);
  const { baseline, limit, evidenceLog10 } = rule.detector.gauges(state.detector);
  return {
    ruleKey: rule.key,
    group: group.name,
    alert: rule.rule.alert,
    detector: rule.rule.detection.kind,
    series,
    phase: state.phase,
    sinceMs: state.sinceMs,
    incidentId: findIncident(rule, watch),
    finding: state.finding,
    lacks: condition.kind === 'learning' ? condition.why : null,
    mean,
    baseline,
    limit,
    evidenceLog10,
    scores: state.scores,
    bucketMs: state.lastBucketMs ?? 0,
  };
}

/** Rows of one bucket by `computeSeriesKey`. */
interface ReceivedBucket {
  readonly startMs: number;
  readonly received: ReadonlyMap<string, SeriesBucket>;
}

/** Splits a range into windows of one query each. Windows of few scores get longer: a query of any window costs nearly the same. */
function* splitIntoWindows({ intervalMs, fromMs, toMs }: BucketRange): Generator<BucketRange> {
  let lengthMs = WINDOW.leastMs;
  for (let startMs = fromMs, endMs = 0; startMs < toMs; startMs = endMs) {
    endMs = startMs + Math.max(intervalMs, Math.floor(lengthMs / intervalMs) * intervalMs);
    const begunMs = performance.now();
    yield { intervalMs, fromMs: startMs, toMs: Math.min(endMs, toMs) };
    const isQuick = performance.now() - begunMs < WINDOW.quickMs;
    lengthMs = isQuick ? Math.min(2 * lengthMs, WINDOW.mostMs) : WINDOW.leastMs;
  }
}

/** Yields every bucket of a range in order of time, empty ones included. */
async function* storedBuckets(
  store: Pick<MonitorStore, 'buckets'>,
  range: BucketRange,
): AsyncGenerator<ReceivedBucket> {
  for (const window of splitIntoWindows(range)) {
    let startMs = window.fromMs;
    let received = new Map<string, SeriesBucket>();
    for await (const rows of store.buckets(window)) {
      for (const row of rows) {
        for (; startMs < row.bucket.startMs; startMs += range.intervalMs) {
          yield { startMs, received };
          received = new Map();
        }
        received.set(computeSeriesKey(row.series), row);
      }
    }
    for (; startMs < window.toMs; startMs += range.intervalMs) {
      yield { startMs, received };
      received = new Map();
    }
  }
}
