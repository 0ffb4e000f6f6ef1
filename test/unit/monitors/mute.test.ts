import { describe, expect, it } from 'vitest';
import { EVERYTHING, isMuted } from '../../../src/monitors/mute.ts';
import { computeSeriesId } from '../../../src/monitors/series-key.ts';
import { alertOfScorer } from '../../support/builders/an-alert.ts';

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
