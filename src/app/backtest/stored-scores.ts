import { seriesSplitBy, type SeriesFacets, type SplitFacet, splitTexts } from '../../domain/series-facets.ts';
import type { MonitorView } from '../../store/contracts/monitors.ts';
import type { ScoreOfSeries } from './backtest-scores.ts';

/** Number of fingerprint digits shown: enough to distinguish the judges of one scorer. */
const SHOWN_FINGERPRINT = 12;

/**
 * Reads the stored scores of runs that began since a time, with readable series names. A score appears once for each split
 * of series that a rule asks for.
 */
export async function* storedScores(
  view: Pick<MonitorView, 'pastScores'>,
  range: { readonly fromMs: number; readonly toMs: number },
  splits: readonly (readonly SplitFacet[])[],
): AsyncGenerator<ScoreOfSeries> {
  for await (const batch of view.pastScores(range)) {
    for (const { series, atMs, step } of batch) {
      for (const by of splits) {
        const facets = seriesSplitBy(series, by);
        yield { series: { name: nameSeries(facets), facets }, atMs, step };
      }
    }
  }
}

/** Returns a name like `hallucination/weather-agent/production/model gpt-5#0a1b2c3d4e5f`; a tenant comes first. */
function nameSeries(series: SeriesFacets): string {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  const parts = [tenant, scorer, agent, environment].filter((part) => part !== '');
  return `${[...parts, ...splitTexts(series)].join('/')}#${fingerprint.slice(0, SHOWN_FINGERPRINT)}`;
}
