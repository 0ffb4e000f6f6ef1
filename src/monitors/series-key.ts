import type { SeriesFacets } from '../domain/alert.ts';
import type { SeriesSelector } from './rule.ts';

/** One name for a series, for maps. */
export function seriesKeyOf({ tenant, scorer, fingerprint, agent, environment }: SeriesFacets): string {
  return JSON.stringify([tenant, scorer, fingerprint, agent, environment]);
}

/** Whether a rule watches a series: what a selector does not name may be anything. */
export function isSelected(selector: SeriesSelector, series: SeriesFacets): boolean {
  return (
    (selector.scorer === undefined || selector.scorer === series.scorer) &&
    (selector.agent === undefined || selector.agent === series.agent) &&
    (selector.environment === undefined || selector.environment === series.environment)
  );
}
