import { describe, expect, it, test } from 'vitest';
import { type SeriesFacets, seriesSplitBy, splitTexts } from '../../../src/domain/series-facets.ts';
import { computeIncidentId } from '../../../src/monitors/alert-event.ts';
import { buildAlertEvent } from '../../../src/monitors/build-alert-event.ts';
import { EVERYTHING, isMuted } from '../../../src/monitors/mute.ts';
import { computeSeriesId } from '../../../src/monitors/series-key.ts';
import { alertOfScorer } from '../../support/builders/an-alert.ts';
import { monitorRule } from '../../support/monitors/hourly-monitors.ts';

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

test('annotations of an event have their templates filled in', async () => {
  const annotations = {
    summary: '{{ $labels.agent }} ({{$labels.team}}) has {{ $value }}{{ $labels.model }}',
    runbook_url: 'https://x/{not-a-template}',
  };
  const rule = monitorRule({ kind: 'floor', minimum: 0.7 }, { annotations, labels: { team: 'shop' } });
  const finding = { changeBeganMs: 0, before: 0.7, after: 0.52345, count: 3, evidenceLog10: 1 };
  const change = {
    rule,
    series: SERIES,
    incidentId: computeIncidentId({ alert: 'A', series: SERIES, startsAtMs: 1 }),
    to: 'firing' as const,
    startsAtMs: 1,
    atMs: 1,
    finding,
  };
  const store = {
    explain: () => Promise.resolve({ worstTraces: [], cause: null, serviceVersion: '', agentVersion: '' }),
    countLate: () => Promise.resolve(0),
    hasAnchors: () => Promise.resolve(false),
  };
  expect((await buildAlertEvent(change, store)).annotations).toEqual({
    summary: 'a (shop) has 0.523',
    runbook_url: 'https://x/{not-a-template}',
  });
});

const NOW = 1_000_000;

describe('a mute', () => {
  const event = alertOfScorer('a');
  const { alert, incidentId, series } = event;
  it.each([
    ['of everything', EVERYTHING, true],
    ['of the alert', alert, true],
    ['of the incident', incidentId, true],
    ['of the series', computeSeriesId(series), true],
    ['of another series', computeSeriesId({ ...series, agent: 'other' }), false],
  ])('%s covers the alert: %s, %s', (_, subject, isCovered) => {
    const mute = { tenant: series.tenant, subject, untilMs: NOW + 1 };
    expect(isMuted(event, [mute], NOW)).toBe(isCovered);
    expect(isMuted(event, [{ ...mute, tenant: 'other' }], NOW)).toBe(false);
    expect(isMuted(event, [mute], NOW + 1)).toBe(false);
  });
});
