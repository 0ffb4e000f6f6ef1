import { incidentIdOf, type SeriesFacets } from '../domain/alert.ts';
import { hashOf } from '../domain/identity.ts';
import { type Bucket, NO_OUTCOMES, NO_SCORES, totalOf } from './bucket.ts';
import type { Finding } from './detector.ts';
import { thresholdsFor } from './false-alarms.ts';
import type { SeriesBucket } from './monitor-store.ts';
import { type AnyDetector, detectorOf, type MonitorGroup, type MonitorRule } from './rule.ts';
import { foldBucket, isAlert, type SeriesState, startSeries, type Transition } from './series.ts';
import { isSelected, seriesKeyOf } from './series-key.ts';

/** Most series of one rule: further ones are not watched, and that is told. */
export const MAX_SERIES = 20_000;

/** A series that had no score for so long is forgotten, unless it fires, milliseconds. */
const FORGOTTEN_AFTER_MS = 30 * 86_400_000;

/** A rule on one series. */
export interface SeriesWatch {
  readonly series: SeriesFacets;
  state: SeriesState<unknown>;
  /** When the incident that is on began; null for none. Unix milliseconds. */
  startsAtMs: number | null;
  /** Mean of the latest bucket that held scores. */
  mean: number | null;
}

/** A rule on all series that it selects. */
export interface RuleWatch {
  readonly rule: MonitorRule;
  /** `ruleKeyOf`. */
  readonly key: string;
  /** By `seriesKeyOf`. */
  readonly series: Map<string, SeriesWatch>;
  detector: AnyDetector;
}

/** The rules of a group that are not paused: they share an allowance of false alarms. */
export interface GroupWatch {
  readonly group: MonitorGroup;
  readonly rules: readonly RuleWatch[];
  /** How many series the detectors were laid out for. */
  laidOutFor: number;
  /** Series that found no place. */
  overflow: number;
}

/** An incident of a rule on a series begins or ends. */
export interface IncidentChange {
  readonly rule: MonitorRule;
  readonly series: SeriesFacets;
  readonly incidentId: string;
  readonly to: 'firing' | 'resolved';
  /** When the incident began, and when this happened: ends of buckets, Unix milliseconds. */
  readonly startsAtMs: number;
  readonly atMs: number;
  readonly finding: Finding;
}

/** A rule that detects something else, or on other series, is another rule: its states are folded anew. */
export function ruleKeyOf(group: MonitorGroup, rule: MonitorRule): string {
  const { alert, detection, series, terms } = rule;
  return hashOf([group.name, group.intervalMs, group.falseAlarmBudget, alert, detection, series, terms]);
}

/** A group before its first bucket. */
export function watchGroup(group: MonitorGroup): GroupWatch {
  const rules = group.rules
    .filter((rule) => !rule.paused)
    .map((rule) => ({
      rule,
      key: ruleKeyOf(group, rule),
      series: new Map<string, SeriesWatch>(),
      detector: layOut(group, rule, 1),
    }));
  return { group, rules, laidOutFor: 1, overflow: 0 };
}

/**
 * Folds one closed bucket into every series of every rule: an empty one into those that received nothing, for silence counts
 * as checks. New series join first, so that the allowance of false alarms is shared among all that are watched.
 */
export function foldGroup(
  watch: GroupWatch,
  startMs: number,
  received: ReadonlyMap<string, SeriesBucket>,
): IncidentChange[] {
  admit(watch, received);
  share(watch);
  const changes: IncidentChange[] = [];
  for (const rule of watch.rules) {
    for (const [key, series] of rule.series) {
      const bucket = received.get(key)?.bucket ?? emptyBucket(startMs);
      changes.push(...foldSeries(rule, series, bucket));
      if (isForgotten(series, startMs)) {
        rule.series.delete(key);
      }
    }
  }
  return changes;
}

/** Detectors as sure as the series that are watched now ask for. */
export function share(watch: GroupWatch): void {
  const count = watch.rules.reduce((sum, { series }) => sum + series.size, 0);
  if (count !== watch.laidOutFor && count > 0) {
    watch.laidOutFor = count;
    for (const rule of watch.rules) {
      rule.detector = layOut(watch.group, rule.rule, count);
    }
  }
}

/**
 * Starts a series anew at the beginning of the change that its incident found: what came since is the new normal.
 * @param buckets of this series from the beginning of the change, in order of time
 * @param atMs when the incident ends by it
 */
export function repin(
  rule: RuleWatch,
  series: SeriesWatch,
  buckets: readonly Bucket[],
  atMs: number,
): IncidentChange[] {
  const { finding } = series.state;
  const ended = finding === null ? [] : [changeOf(rule, series, { atMs, to: 'ok', finding })];
  series.state = startSeries(rule.detector);
  series.startsAtMs = null;
  const since = buckets.flatMap((bucket) => foldSeries(rule, series, bucket));
  const last = since.at(-1);
  return [...ended, ...(last?.to === 'firing' ? [last] : [])];
}

function foldSeries(rule: RuleWatch, series: SeriesWatch, bucket: Bucket): IncidentChange[] {
  const { state, transitions } = foldBucket(rule.detector, rule.rule.terms, series.state, bucket);
  series.state = state;
  const { count, sum } = totalOf(bucket.scores);
  series.mean = count > 0 ? sum / count : series.mean;
  return transitions.map((transition) => changeOf(rule, series, transition));
}

function changeOf(
  { rule }: RuleWatch,
  series: SeriesWatch,
  { atMs, to, finding }: Transition,
): IncidentChange {
  const startsAtMs = to === 'firing' ? atMs : (series.startsAtMs ?? atMs);
  series.startsAtMs = to === 'firing' ? atMs : null;
  return {
    rule,
    series: series.series,
    incidentId: incidentIdOf({ alert: rule.alert, series: series.series, startsAtMs }),
    to: to === 'firing' ? 'firing' : 'resolved',
    startsAtMs,
    atMs,
    finding,
  };
}

/** The incident that is on; null for none. */
export function incidentOf({ rule }: RuleWatch, { series, startsAtMs }: SeriesWatch): string | null {
  return startsAtMs === null ? null : incidentIdOf({ alert: rule.alert, series, startsAtMs });
}

function admit(watch: GroupWatch, received: ReadonlyMap<string, SeriesBucket>): void {
  for (const [key, { series, bucket }] of received) {
    const { scored, failed, deferred } = bucket.outcomes;
    const isEmpty = bucket.scores.counts.length === 0 && scored + failed + deferred === 0;
    for (const rule of watch.rules) {
      if (isEmpty || rule.series.has(key) || !isSelected(rule.rule.series, series)) {
        continue;
      }
      if (rule.series.size >= MAX_SERIES) {
        watch.overflow += 1;
        continue;
      }
      rule.series.set(key, { series, state: startSeries(rule.detector), startsAtMs: null, mean: null });
    }
  }
}

function isForgotten({ state }: SeriesWatch, nowMs: number): boolean {
  const lastMs = state.lastScoreMs ?? nowMs;
  return nowMs - lastMs > FORGOTTEN_AFTER_MS && !isAlert(state.phase);
}

function layOut(group: MonitorGroup, rule: MonitorRule, series: number): AnyDetector {
  const { falseAlarmBudget: budget, intervalMs } = group;
  return detectorOf(rule.detection, thresholdsFor({ budget, series, intervalMs }));
}

function emptyBucket(startMs: number): Bucket {
  return { startMs, scores: NO_SCORES, outcomes: NO_OUTCOMES };
}

/** A watch's state as text, and back. */
export function watchText({ state, startsAtMs, mean }: SeriesWatch): string {
  return JSON.stringify({ state, startsAtMs, mean });
}

export function loadWatch(rule: RuleWatch, series: SeriesFacets, text: string): void {
  const stored = JSON.parse(text) as Pick<SeriesWatch, 'state' | 'startsAtMs' | 'mean'>;
  rule.series.set(seriesKeyOf(series), { series, ...stored });
}
