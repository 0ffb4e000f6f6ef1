import { AGGREGATE_FACETS, type AggregateFacet } from '../../domain/aggregate-facets.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import { computeSeriesKey } from '../../monitors/series-key.ts';
import type { ScoreScale } from '../../store/contracts/aggregates/aggregate-reads.ts';

/** Choice of scores: any of the values of each facet. */
export type FacetValues = Readonly<Partial<Record<AggregateFacet, readonly string[] | undefined>>>;

/**
 * Returns the mean that monitors expect of a choice of scores, in the units of the scorer. Null when no monitor has a reference, or the
 * choice covers several of their series.
 */
export function findMonitorMean(
  statuses: readonly MonitorStatus[],
  scorer: string,
  { facets, scale }: { readonly facets: FacetValues; readonly scale: ScoreScale },
): number | null {
  const fitting = statuses.filter(
    ({ baseline, series }) => baseline !== null && series.scorer === scorer && isChosen(series, facets),
  );
  const keys = new Set(fitting.map(({ series }) => computeSeriesKey(series)));
  const baseline = fitting[0]?.baseline ?? null;
  const { scoreMin, scoreMax, higherIsBetter } = scale;
  if (keys.size !== 1 || baseline === null || scoreMin === null || scoreMax === null) {
    return null;
  }
  const step = baseline * (scoreMax - scoreMin);
  return higherIsBetter === false ? scoreMax - step : scoreMin + step;
}

/** Returns true for a series of the choice. A series that is not split by a facet covers all of its values. */
function isChosen(series: SeriesFacets, facets: FacetValues): boolean {
  const values: Readonly<Record<AggregateFacet, string | undefined>> = {
    agent: series.agent,
    environment: series.environment,
    fingerprint: series.fingerprint,
    target: series.target ?? 'trace',
    service: series.service,
    model: series.model,
    serviceVersion: series.serviceVersion,
    agentVersion: series.agentVersion,
  };
  return AGGREGATE_FACETS.every((facet) => {
    const chosen = facets[facet];
    const value = values[facet];
    return chosen === undefined || (value !== undefined && chosen.includes(value));
  });
}
