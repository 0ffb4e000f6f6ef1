import { type SeriesFacets } from '../domain/series-facets.ts';
import { computeIncidentId } from './alert-event.ts';
import { hashValue } from '../domain/identity.ts';
import { type Bucket, mergeHistograms, NO_OUTCOMES, NO_SCORES, sumHistogram } from './bucket.ts';
import type { Finding } from './detector.ts';
import { shareByTenant, thresholdsFor } from './statistics/false-alarms.ts';
import type { Checkpoint, SeriesBucket } from './monitor-store.ts';
import {
  type AnyDetector,
  createDetector,
  type MonitorGroup,
  type MonitorRule,
  OF_OUTCOMES,
} from './rule.ts';
import { foldBucket, isAlert, type SeriesState, createSeries, type Transition } from './series.ts';
import { isSelected, computeSeriesKey } from './series-key.ts';
import { countTraffic, hasTraffic, NO_TRAFFIC, type Traffic } from './traffic-floor.ts';
import { DAY_MS, startOfDay } from '../domain/durations.ts';
import { isDeepStrictEqual } from 'node:util';

/** Most series of one tenant in one rule; further series are not watched, and a warning is logged. */
export const MAX_SERIES = 20_000;

/** Most new pairs of agent and environment of one tenant and day (UTC) that get series of their own in one rule. */
export const MAX_NEW_NAMES = 200;

/** Agent of the series that further pairs share, and its environment where the rule has not yet seen theirs. */
const OTHER = 'other';

/** Time without a score after which a series is forgotten, unless it fires or is about to, milliseconds. */
const FORGOTTEN_AFTER_MS = 30 * DAY_MS;

export interface SeriesWatch {
  readonly series: SeriesFacets;
  state: SeriesState<unknown>;
  /** Begin of the open incident, Unix milliseconds; null without one. */
  startsAtMs: number | null;
  /** Mean of the latest bucket with scores. */
  mean: number | null;
  /** Traffic of a split series, which decides whether it is watched; null for any other series. */
  traffic: Traffic | null;
  /** Start of the bucket with which the series began, Unix milliseconds. */
  readonly addedMs: number;
  /** Acknowledgement of the last change of its judge that gave it a new reference, Unix milliseconds; absent without one. */
  judgeSinceMs?: number | undefined;
}

/** A part of the traffic that is no series of its own yet. */
interface Candidate {
  readonly series: SeriesFacets;
  readonly traffic: Traffic;
}

export interface RuleWatch {
  readonly rule: MonitorRule;
  /** Result of `computeRuleKey`. */
  readonly key: string;
  /** Watched series by `computeSeriesKey`. */
  readonly series: Map<string, SeriesWatch>;
  /** Candidates of the current day by `computeSeriesKey`. */
  readonly candidates: Map<string, Candidate>;
  /** Detector of one series alone, from which states begin. */
  readonly detector: AnyDetector;
  detectors: ReadonlyMap<string, AnyDetector>;
  /** Start of the latest folded bucket; earlier buckets are not folded again. */
  foldedMs: number;
}

/** Rules of a group that are not paused; they share an allowance of false alarms. */
export interface GroupWatch {
  readonly group: MonitorGroup;
  readonly rules: readonly RuleWatch[];
  /** Series by tenant that the detectors were built for (`shareByTenant`). */
  laidOutFor: ReadonlyMap<string, number>;
  /** Number of series that are not watched, or only as a part of `other`, because there are too many. */
  overflow: number;
}

export interface IncidentChange {
  readonly rule: MonitorRule;
  readonly series: SeriesFacets;
  readonly incidentId: string;
  readonly to: 'firing' | 'resolved';
  /** Begin of the incident and time of this change; both are ends of buckets, Unix milliseconds. */
  readonly startsAtMs: number;
  readonly atMs: number;
  readonly finding: Finding;
}

/**
 * Computes the key of a rule. A rule that detects something else, or on other series, gets another key: its states start anew.
 */
export function computeRuleKey(group: MonitorGroup, rule: MonitorRule): string {
  const { alert, detection, series, split, terms } = rule;
  const { name, intervalMs, falseAlarmBudget } = group;
  const further = split === undefined ? [] : [split];
  return hashValue([name, intervalMs, falseAlarmBudget, alert, detection, series, terms, ...further]);
}

/** Rows of one bucket by `computeSeriesKey`. */
type Received = ReadonlyMap<string, SeriesBucket>;

/** Creates the state of a group before its first bucket. */
export function watchGroup(group: MonitorGroup): GroupWatch {
  const rules = group.rules
    .filter((rule) => !rule.paused)
    .map((rule) => ({
      rule,
      key: computeRuleKey(group, rule),
      series: new Map<string, SeriesWatch>(),
      candidates: new Map<string, Candidate>(),
      detector: layOut(group, rule, 1),
      detectors: new Map<string, AnyDetector>(),
      foldedMs: Number.NEGATIVE_INFINITY,
    }));
  return { group, rules, laidOutFor: new Map(), overflow: 0 };
}

/**
 * Folds one closed bucket into every series of every rule. A series without scores in it gets an empty bucket, because missing
 * scores count as checks. New series are added first, so that all watched series share the allowance of false alarms of their tenant.
 */
export function foldGroup(
  watch: GroupWatch,
  startMs: number,
  received: Received,
  isUnobserved = false,
): IncidentChange[] {
  const ofAgents = mergeFingerprints(received);
  const receivedBy = ({ rule }: RuleWatch) => (rule.detection.kind === 'no_data' ? ofAgents : received);
  const rules = watch.rules
    .filter(({ foldedMs }) => foldedMs < startMs)
    .map((rule) => ({ rule, received: admitSeries(watch, rule, startMs, receivedBy(rule)) }));
  share(watch);
  const empty: Bucket = { startMs, scores: NO_SCORES, outcomes: NO_OUTCOMES, isUnobserved };
  const changes: IncidentChange[] = [];
  for (const { rule, received: ofRule } of rules) {
    for (const [key, series] of rule.series) {
      const bucket = ofRule.get(key)?.bucket ?? empty;
      changes.push(...foldSeries(rule, series, bucket));
      if (isForgotten(series, startMs)) {
        rule.series.delete(key);
      }
    }
  }
  return changes;
}

/** Rebuilds the detectors with thresholds for the present number of series. */
export function share(watch: GroupWatch): void {
  const shares = shareByTenant(
    watch.rules.flatMap(({ series }) => [...series.values()].map((each) => each.series.tenant)),
  );
  if (isDeepStrictEqual(shares, watch.laidOutFor)) {
    return;
  }
  watch.laidOutFor = shares;
  for (const rule of watch.rules) {
    rule.detectors = new Map(
      [...shares].map(([tenant, series]) => [tenant, layOut(watch.group, rule.rule, series)]),
    );
  }
}

/**
 * Restarts a series at the beginning of the change that its incident found: the scores since then become the new reference.
 * @param buckets buckets of this series from the beginning of the change, in order of time
 * @param atMs end of the incident
 */
export function repinBaseline(
  rule: RuleWatch,
  series: SeriesWatch,
  buckets: readonly Bucket[],
  atMs: number,
): IncidentChange[] {
  const { finding } = series.state;
  const isOpen = finding !== null && series.startsAtMs !== null;
  const ended = isOpen ? [buildChange(rule, series, { atMs, to: 'ok', finding })] : [];
  series.state = createSeries(findDetector(rule, series));
  series.startsAtMs = null;
  const since = buckets.flatMap((bucket) => foldSeries(rule, series, bucket));
  const last = since.at(-1);
  return [...ended, ...(last?.to === 'firing' ? [last] : [])];
}

/**
 * Reopens an alert whose end was already sent: it continues as another incident.
 * @param series a series with an open incident
 */
export function reopen(rule: RuleWatch, series: SeriesWatch, atMs: number): IncidentChange[] {
  const { finding } = series.state;
  return finding === null ? [] : [buildChange(rule, series, { atMs, to: 'firing', finding })];
}

function foldSeries(rule: RuleWatch, series: SeriesWatch, bucket: Bucket): IncidentChange[] {
  const { state, transitions } = foldBucket(
    findDetector(rule, series),
    rule.rule.terms,
    series.state,
    bucket,
  );
  series.state = state;
  const { count, sum } = sumHistogram(bucket.scores);
  series.mean = count > 0 ? sum / count : series.mean;
  return transitions.map((transition) => buildChange(rule, series, transition));
}

function buildChange(
  { rule }: RuleWatch,
  series: SeriesWatch,
  { atMs, to, finding }: Transition,
): IncidentChange {
  const startsAtMs = to === 'firing' ? atMs : (series.startsAtMs ?? atMs);
  series.startsAtMs = to === 'firing' ? atMs : null;
  return {
    rule,
    series: series.series,
    incidentId: computeIncidentId({ alert: rule.alert, series: series.series, startsAtMs }),
    to: to === 'firing' ? 'firing' : 'resolved',
    startsAtMs,
    atMs,
    finding,
  };
}

/** Finds the id of the open incident; null without one. */
export function findIncident({ rule }: RuleWatch, { series, startsAtMs }: SeriesWatch): string | null {
  return startsAtMs === null ? null : computeIncidentId({ alert: rule.alert, series, startsAtMs });
}

function findDetector({ detector, detectors }: RuleWatch, { series }: SeriesWatch): AnyDetector {
  return detectors.get(series.tenant) ?? detector;
}

/** Adds the new series of a bucket. Returns the bucket as the rule sees it: some series are parts of `other`. */
function admitSeries(watch: GroupWatch, rule: RuleWatch, startMs: number, allReceived: Received): Received {
  rule.foldedMs = startMs;
  if (startOfDay(startMs) === startMs) {
    rule.candidates.clear();
  }
  const { received, beyond } = shareNewNames(rule, startMs, allReceived);
  watch.overflow += beyond;
  const [watched, counted] = [createPlaces(rule.series), createPlaces(rule.candidates)];
  for (const [key, row] of received) {
    const { series, bucket } = row;
    if (!isAsked(rule, row)) {
      continue;
    }
    const known = rule.series.get(key);
    const traffic = trafficAfter(rule, key, bucket);
    if (known !== undefined) {
      known.traffic = traffic;
    } else if (traffic === null || hasTraffic(traffic, startMs)) {
      const state = createSeries(rule.detector);
      const added = { series, state, startsAtMs: null, mean: null, traffic, addedMs: startMs };
      watch.overflow += watched.join(key, added);
      rule.candidates.delete(key);
    } else {
      watch.overflow += counted.join(key, { series, traffic });
    }
  }
  return received;
}

/**
 * Bounds the series that senders begin in a rule by inventing agents and environments. Pairs beyond the limit of a day share the series
 * `other`, but for silence: the end of a mixture says nothing about an agent. A name that the rule asks for is kept.
 * @returns the series of a bucket as the rule sees them, and the number of those that lost their own
 */
function shareNewNames(
  rule: RuleWatch,
  startMs: number,
  received: Received,
): { readonly received: Received; readonly beyond: number } {
  const fresh = [...received].filter(([key, row]) => !rule.series.has(key) && isAsked(rule, row));
  const names = fresh.length === 0 ? null : knownNames(rule, startMs);
  const beyond = names === null ? [] : fresh.filter(([, { series }]) => !names.admit(series));
  if (names === null || beyond.length === 0) {
    return { received, beyond: 0 };
  }
  const own = new Map(received);
  beyond.forEach(([key]) => own.delete(key));
  if (rule.rule.detection.kind !== 'no_data') {
    const renamed = beyond.map(([, row]) => ({ ...row, series: names.rename(row.series) }));
    for (const [key, rows] of Map.groupBy(renamed, ({ series }) => computeSeriesKey(series))) {
      const same = own.get(key);
      own.set(key, mergeRows(same === undefined ? rows : [same, ...rows]));
    }
  }
  return { received: own, beyond: beyond.length };
}

/** Collects the names of a rule, and counts the new ones of a day by tenant. */
function knownNames({ rule, series, candidates }: RuleWatch, startMs: number) {
  const dayMs = startOfDay(startMs);
  const pairs = new Set<string>();
  const environments = new Set<string>();
  const begun = new Map<string, number>();
  const add = (one: SeriesFacets, isNew: boolean) => {
    if (!pairs.has(pairKey(one))) {
      pairs.add(pairKey(one));
      environments.add(environmentKey(one));
      begun.set(one.tenant, (begun.get(one.tenant) ?? 0) + (isNew ? 1 : 0));
    }
  };
  const oldest = [...series.values()].toSorted((a, b) => a.addedMs - b.addedMs);
  oldest.forEach((watch) => add(watch.series, watch.addedMs >= dayMs));
  candidates.forEach((candidate) => add(candidate.series, true));
  return {
    admit(one: SeriesFacets): boolean {
      if (!pairs.has(pairKey(one)) && (begun.get(one.tenant) ?? 0) >= MAX_NEW_NAMES) {
        return false;
      }
      add(one, true);
      return true;
    },
    rename: (one: SeriesFacets): SeriesFacets => ({
      ...one,
      agent: rule.series.agent ?? OTHER,
      environment: environments.has(environmentKey(one))
        ? one.environment
        : (rule.series.environment ?? OTHER),
    }),
  };
}

const pairKey = ({ tenant, agent, environment }: SeriesFacets) =>
  JSON.stringify([tenant, agent, environment]);
const environmentKey = ({ tenant, environment }: SeriesFacets) => JSON.stringify([tenant, environment]);

/** Merges the buckets of one time into the first row. */
function mergeRows(rows: readonly SeriesBucket[]): SeriesBucket {
  const [first] = rows as [SeriesBucket];
  const scores = mergeHistograms(rows.map(({ bucket }) => bucket.scores));
  const outcomes = rows.reduce(
    (sum, { bucket: { outcomes: each } }) => ({
      scored: sum.scored + each.scored,
      failed: sum.failed + each.failed,
      deferred: sum.deferred + each.deferred,
    }),
    NO_OUTCOMES,
  );
  return { ...first, bucket: { ...first.bucket, scores, outcomes } };
}

/** True for a series that a rule selects and that has what the rule looks at. */
function isAsked({ rule }: RuleWatch, { series, bucket }: SeriesBucket): boolean {
  const { scored, failed, deferred } = bucket.outcomes;
  // Outcomes have the name of the rule's scorer, whose rows may have other names: it is no series of scores then.
  const hasOutcomes = OF_OUTCOMES.has(rule.detection.kind) && scored + failed + deferred > 0;
  return (bucket.scores.counts.length > 0 || hasOutcomes) && isSelected(rule, series);
}

/** Creates the places of a rule, of which each tenant has its own. */
function createPlaces<T extends { readonly series: SeriesFacets }>(places: Map<string, T>) {
  const taken = new Map<string, number>();
  const count = ({ series: { tenant } }: T) => taken.set(tenant, (taken.get(tenant) ?? 0) + 1);
  places.forEach(count);
  return {
    /** Adds one entry. Returns 1 when its tenant has no room for it, else 0. */
    join(key: string, one: T): number {
      if (!places.has(key)) {
        if ((taken.get(one.series.tenant) ?? 0) >= MAX_SERIES) {
          return 1;
        }
        count(one);
      }
      places.set(key, one);
      return 0;
    },
  };
}

/** Counts the traffic of a series after a bucket; null where the rule watches every series. */
function trafficAfter({ rule, series, candidates }: RuleWatch, key: string, bucket: Bucket): Traffic | null {
  if (rule.split === undefined) {
    return null;
  }
  const before = (series.get(key) ?? candidates.get(key))?.traffic ?? NO_TRAFFIC;
  return countTraffic(before, bucket.startMs, sumHistogram(bucket.scores).count, rule.split.minDailyScores);
}

function isForgotten({ state, traffic }: SeriesWatch, nowMs: number): boolean {
  const lastMs = state.lastScoreMs ?? nowMs;
  const isGone = nowMs - lastMs > FORGOTTEN_AFTER_MS || (traffic !== null && !hasTraffic(traffic, nowMs));
  return isGone && !isAlert(state.phase) && state.phase !== 'pending';
}

function layOut(group: MonitorGroup, rule: MonitorRule, series: number): AnyDetector {
  const { falseAlarmBudget: budget, intervalMs } = group;
  return createDetector(rule.detection, thresholdsFor({ budget, series, intervalMs }));
}

/** Merges the fingerprints of each scorer and agent: an agent whose judge or prompt changed is not silent. */
function mergeFingerprints(received: Received): Map<string, SeriesBucket> {
  const ofAgents = new Map<string, SeriesBucket>();
  for (const row of received.values()) {
    const series = { ...row.series, fingerprint: '' };
    const key = computeSeriesKey(series);
    // Silence asks only whether there are scores, so one row with scores stands for all.
    if (!ofAgents.has(key) || sumHistogram(row.bucket.scores).count > 0) {
      ofAgents.set(key, { ...row, series });
    }
  }
  return ofAgents;
}

/** Serializes all states of a rule after its latest bucket. */
export function buildStates({ series, candidates }: RuleWatch): Checkpoint['states'] {
  return [...series.values(), ...candidates.values()].map(({ series: of, ...state }) => ({
    series: of,
    state: JSON.stringify(state),
  }));
}

/** Restores a rule to its state after a bucket. */
export function restoreStates(rule: RuleWatch, { bucketMs, states }: Checkpoint): void {
  rule.foldedMs = bucketMs;
  for (const { series, state } of states) {
    const stored = JSON.parse(state) as Omit<SeriesWatch, 'series'> | Omit<Candidate, 'series'>;
    const key = computeSeriesKey(series);
    if ('state' in stored) {
      rule.series.set(key, { series, ...stored });
    } else {
      rule.candidates.set(key, { series, ...stored });
    }
  }
}
