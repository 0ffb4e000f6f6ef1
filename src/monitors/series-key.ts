import { v5 as uuidv5 } from 'uuid';
import { findRowScorer } from '../domain/score-rows.ts';
import { type SeriesFacets, SPLIT_FACETS, buildSplit } from '../domain/series-facets.ts';
import type { MonitorRule } from './rule.ts';

/** Computes a key of a series, for maps. */
export function computeSeriesKey(series: SeriesFacets): string {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  return JSON.stringify([tenant, scorer, fingerprint, agent, environment, ...buildSplit(series).flat()]);
}

/** UUIDv5 namespace of series. It must never change: stored mutes name series by these ids. */
const SERIES_NAMESPACE = '6f1d2a84-93b7-5c40-9e55-2b8c7d10f3ae';

/** Computes the id of a series, for people. */
export function computeSeriesId(series: SeriesFacets): string {
  return uuidv5(computeSeriesKey(series), SERIES_NAMESPACE);
}

/**
 * True when a rule watches a series: the split is equal and every key of the selector matches; an absent key matches any value,
 * and a scorer that writes several rows matches each of them.
 */
export function isSelected(
  { series: selector, split, otherScorers = [] }: Pick<MonitorRule, 'series' | 'split' | 'otherScorers'>,
  series: SeriesFacets,
): boolean {
  return (
    SPLIT_FACETS.every((facet) => (series[facet] !== undefined) === (split?.by.includes(facet) ?? false)) &&
    (selector.scorer === undefined ||
      findRowScorer(series.scorer, [selector.scorer, ...otherScorers]) === selector.scorer) &&
    (selector.agent === undefined || selector.agent === series.agent) &&
    (selector.environment === undefined || selector.environment === series.environment) &&
    (selector.target === undefined || selector.target === (series.target ?? 'trace'))
  );
}
