import { describe, expect, test } from 'vitest';
import { seriesSplitBy, type SeriesFacets, splitTexts } from '../../../src/domain/series-facets.ts';
import { computeIncidentId } from '../../../src/monitors/alert-event.ts';

const SERIES: SeriesFacets = { tenant: 't', scorer: 's', fingerprint: 'f', agent: 'a', environment: 'e' };

function computeId(series: SeriesFacets): string {
  return computeIncidentId({ alert: 'ScoreDrift', series, startsAtMs: 1000 });
}

describe('the id of an incident', () => {
  test('is the one that receivers know, where the series is not split', () => {
    expect(computeId(SERIES)).toBe('bc8e4023-7db2-5eff-be91-32ad595889a0');
  });

  test('is another for each part of a series', () => {
    const parts: SeriesFacets[] = [
      SERIES,
      { ...SERIES, model: '' },
      { ...SERIES, model: '1' },
      { ...SERIES, agentVersion: '1' },
      { ...SERIES, serviceVersion: '1' },
      { ...SERIES, model: '1', service: '1' },
    ];
    expect(new Set(parts.map(computeId)).size).toBe(parts.length);
  });
});

describe('a part of a series', () => {
  const part: SeriesFacets = { ...SERIES, service: 'shop', model: '', agentVersion: '2' };

  test('is told in words, in one order, be its value known or not', () => {
    expect(splitTexts(part)).toEqual(['model unknown', 'agent version 2', 'service shop']);
    expect(splitTexts(SERIES)).toEqual([]);
  });

  test('belongs to a coarser one', () => {
    expect(seriesSplitBy(part, ['agentVersion'])).toEqual({ ...SERIES, agentVersion: '2' });
    expect(seriesSplitBy(part, [])).toEqual(SERIES);
  });
});
