import type { SeriesFacets } from '../domain/series-facets.ts';
import { NO_OUTCOMES } from './bucket.ts';
import type { SeriesBucket } from './monitor-store.ts';
import type { MonitorRule } from './rule.ts';
import { computeSeriesKey } from './series-key.ts';
import { mergeHistograms } from './statistics/merge-histograms.ts';
import { startOfDay } from './traffic-floor.ts';

/** Most new pairs of agent and environment of one tenant and day (UTC) that get series of their own in one rule. */
export const MAX_NEW_NAMES = 200;

/** Agent of the series that further pairs share, and its environment where the rule has not yet seen theirs. */
const OTHER = 'other';

/** Rule whose series and candidates have names: the pairs of agent and environment. */
interface NamedRule {
  readonly rule: MonitorRule;
  readonly series: ReadonlyMap<string, { readonly series: SeriesFacets; readonly addedMs: number }>;
  readonly candidates: ReadonlyMap<string, { readonly series: SeriesFacets }>;
}

/** Series by `computeSeriesKey`. */
export type Received = ReadonlyMap<string, SeriesBucket>;

/**
 * Bounds the series that senders begin in a rule by inventing agents and environments. Pairs beyond the limit of a day share the series
 * `other`, but for silence: the end of a mixture says nothing about an agent. A name that the rule asks for is kept.
 * @param isAsked true for a series that the rule watches or counts
 * @returns the series of a bucket as the rule sees them, and the number of those that lost their own
 */
export function shareNewNames(
  rule: NamedRule,
  startMs: number,
  received: Received,
  isAsked: (row: SeriesBucket) => boolean,
): { readonly received: Received; readonly beyond: number } {
  const fresh = [...received].filter(([key, row]) => !rule.series.has(key) && isAsked(row));
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
function knownNames({ rule, series, candidates }: NamedRule, startMs: number) {
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
