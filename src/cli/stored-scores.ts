import type { SeriesFacets } from '../domain/alert.ts';
import type { MonitorView } from '../store/contracts/monitors.ts';
import type { ScoreOfSeries } from './backtest-scores.ts';

/** Digits of a fingerprint that are shown: enough to tell the judges of one scorer apart. */
const SHOWN_FINGERPRINT = 12;

/** The stored scores of runs that began since a time, under names that people can read. */
export async function* storedScores(
  view: Pick<MonitorView, 'pastScores'>,
  range: { readonly fromMs: number; readonly toMs: number },
): AsyncGenerator<ScoreOfSeries> {
  for await (const batch of view.pastScores(range)) {
    for (const { series, atMs, step } of batch) {
      yield { series: { name: nameOf(series), facets: series }, atMs, step };
    }
  }
}

/** `hallucination/weather-agent/production#0a1b2c3d4e5f`, behind its tenant where there is one. */
function nameOf({ tenant, scorer, fingerprint, agent, environment }: SeriesFacets): string {
  const parts = [tenant, scorer, agent, environment].filter((part) => part !== '');
  return `${parts.join('/')}#${fingerprint.slice(0, SHOWN_FINGERPRINT)}`;
}
