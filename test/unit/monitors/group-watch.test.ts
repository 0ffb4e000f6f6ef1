import { describe, expect, test } from 'vitest';
import { histogramOf, NO_OUTCOMES, type Outcomes } from '../../../src/monitors/bucket.ts';
import {
  foldGroup,
  loadWatch,
  MAX_SERIES,
  ruleKeyOf,
  watchGroup,
  watchText,
} from '../../../src/monitors/group-watch.ts';
import type { SeriesBucket } from '../../../src/monitors/monitor-store.ts';
import type { MonitorGroup, MonitorRule } from '../../../src/monitors/rule.ts';
import { seriesKeyOf } from '../../../src/monitors/series-key.ts';
import { A_SERIES } from '../../support/memory-monitors.ts';

const HOUR_MS = 3_600_000;
const RULE: MonitorRule = {
  alert: 'Low',
  detection: { kind: 'floor', minimum: 0.5 },
  series: {},
  terms: { forMs: 0, keepFiringForMs: 0, noDataAfterMs: 24 * HOUR_MS, intervalMs: HOUR_MS },
  paused: false,
  labels: {},
  annotations: {},
};
const GROUP: MonitorGroup = { name: 'quality', intervalMs: HOUR_MS, falseAlarmBudget: 1, rules: [RULE] };

function received(
  startMs: number,
  agents: readonly string[],
  scores: readonly number[],
  outcomes: Partial<Outcomes> = { scored: scores.length },
): Map<string, SeriesBucket> {
  const rows = agents.map((agent): SeriesBucket => ({
    series: { ...A_SERIES, agent },
    bucket: { startMs, scores: histogramOf(scores), outcomes: { ...NO_OUTCOMES, ...outcomes } },
    aside: { refused: 0, repeated: 0, rescored: 0, late: 0, notUniform: 0, notLive: 0 },
  }));
  return new Map(rows.map((row) => [seriesKeyOf(row.series), row]));
}

function seriesCount(watch: ReturnType<typeof watchGroup>): number {
  return watch.rules.reduce((sum, { series }) => sum + series.size, 0);
}

describe('a watched group', () => {
  test('begins a series with its first score or failure, not with what is only counted', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, received(0, ['counted'], [], {}));
    expect(seriesCount(watch)).toBe(0);
    foldGroup(watch, HOUR_MS, received(HOUR_MS, ['failing'], [], { failed: 1 }));
    foldGroup(watch, 2 * HOUR_MS, received(2 * HOUR_MS, ['scored'], [0.9]));
    expect(seriesCount(watch)).toBe(2);
  });

  test('forgets a series that had no score for thirty days', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, received(0, ['retired', 'busy'], [0.9]));
    for (let hour = 1; hour <= 30 * 24; hour += 1) {
      foldGroup(watch, hour * HOUR_MS, received(hour * HOUR_MS, ['busy'], [0.9]));
    }
    expect(seriesCount(watch)).toBe(2);
    foldGroup(watch, 721 * HOUR_MS, received(721 * HOUR_MS, ['busy'], [0.9]));
    expect(seriesCount(watch)).toBe(1);
  });

  test('keeps a series that is alerted, however long it is silent', () => {
    const rule: MonitorRule = { ...RULE, detection: { kind: 'no_data', afterMs: HOUR_MS } };
    const watch = watchGroup({ ...GROUP, rules: [rule] });
    foldGroup(watch, 0, received(0, ['retired'], [0.9]));
    for (let hour = 1; hour <= 800; hour += 1) {
      foldGroup(watch, hour * HOUR_MS, new Map());
    }
    expect(seriesCount(watch)).toBe(1);
  });

  test('watches a bounded number of series, and counts those that found no place', () => {
    const watch = watchGroup(GROUP);
    const agents = Array.from({ length: MAX_SERIES + 3 }, (_, index) => `agent-${index}`);
    foldGroup(watch, 0, received(0, agents, [0.9]));
    expect(seriesCount(watch)).toBe(MAX_SERIES);
    expect(watch.overflow).toBe(3);
  });

  test('goes on from the text of a state as from the state', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, received(0, ['a'], [0.4, 0.2]));
    const again = watchGroup(GROUP);
    for (const [from, into] of watch.rules.map(
      (rule, index) => [rule, again.rules[index] ?? rule] as const,
    )) {
      from.series.forEach((series) => loadWatch(into, series.series, watchText(series)));
    }
    const next = received(
      HOUR_MS,
      ['a'],
      Array.from({ length: 60 }, () => 0.05),
    );
    expect(foldGroup(again, HOUR_MS, next)).toEqual(foldGroup(watch, HOUR_MS, next));
  });

  test('is another after a change of what a rule detects, not of what it says', () => {
    const key = ruleKeyOf(GROUP, RULE);
    expect(ruleKeyOf(GROUP, { ...RULE, labels: { severity: 'page' }, annotations: { a: 'b' } })).toBe(key);
    expect(ruleKeyOf(GROUP, { ...RULE, detection: { kind: 'floor', minimum: 0.6 } })).not.toBe(key);
    expect(ruleKeyOf(GROUP, { ...RULE, series: { agent: 'weather' } })).not.toBe(key);
    expect(ruleKeyOf({ ...GROUP, falseAlarmBudget: 2 }, RULE)).not.toBe(key);
  });
});
