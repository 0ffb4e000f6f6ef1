import { describe, expect, test } from 'vitest';
import { type IntervalScores, buildHistogram } from '../../../src/monitors/bucket.ts';
import { compareVersions, leastDiscovery } from '../../../src/monitors/version-compare.ts';
import { A_SERIES } from '../../support/fakes/memory-monitors.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

const HOUR_MS = 3_600_000;
const DEPLOY_MS = Date.UTC(2026, 0, 15);

/** Hours of four scores each around a mean, spread evenly over a width of 0.3. */
function hours(fromMs: number, count: number, mean: number, random = seededRandom(7)): IntervalScores[] {
  return Array.from({ length: count }, (_, index) => ({
    startMs: fromMs + index * HOUR_MS,
    scores: buildHistogram(Array.from({ length: 4 }, () => mean - 0.15 + 0.3 * random())),
  }));
}

const BEFORE = hours(DEPLOY_MS - 200 * HOUR_MS, 200, 0.8);

describe('a compare of versions', () => {
  test('calls worse what got worse, and no more', () => {
    const named = (scorer: string, mean: number) => ({
      series: { ...A_SERIES, scorer },
      before: BEFORE,
      after: hours(DEPLOY_MS, 30, mean, seededRandom(3)),
    });
    const comparisons = compareVersions([named('grounding', 0.6), named('tone', 0.8), named('recall', 0.83)]);
    expect(comparisons.map(({ series, effect }) => [series.scorer, effect])).toEqual([
      ['grounding', 'worse'],
      ['tone', 'not_shown'],
      ['recall', 'not_shown'],
    ]);
    expect(comparisons[0]?.before).toEqual({ mean: expect.closeTo(0.8, 1), count: 800 });
    expect(comparisons[0]?.after).toEqual({ mean: expect.closeTo(0.6, 1), count: 120 });
    expect(comparisons[0]?.evidenceLog10).toBeGreaterThan(5);
  });

  test('has no result without a baseline, or without scores since', () => {
    expect(
      compareVersions([{ series: A_SERIES, before: BEFORE.slice(0, 12), after: hours(DEPLOY_MS, 9, 0.1) }]),
    ).toMatchObject([{ effect: 'learning', evidenceLog10: null, before: { count: 48 } }]);
    expect(compareVersions([{ series: A_SERIES, before: BEFORE, after: [] }])).toMatchObject([
      { effect: 'not_shown', evidenceLog10: 0, after: { mean: null, count: 0 } },
    ]);
    expect(compareVersions([])).toEqual([]);
  });

  test('expects the earlier mean of each hour of the day', () => {
    const daily = (fromMs: number, count: number) =>
      Array.from({ length: count }, (_, index): IntervalScores => {
        const startMs = fromMs + index * HOUR_MS;
        const mean = new Date(startMs).getUTCHours() < 12 ? 0.9 : 0.5;
        return { startMs, scores: buildHistogram([mean - 0.05, mean, mean, mean + 0.05]) };
      });
    const before = daily(DEPLOY_MS - 240 * HOUR_MS, 240);
    const lowHours = daily(DEPLOY_MS + 12 * HOUR_MS, 12);
    expect(compareVersions([{ series: A_SERIES, before, after: lowHours }])).toMatchObject([
      { effect: 'not_shown' },
    ]);
  });

  test('finds no change in at least nineteen of twenty deploys without a change', () => {
    const random = seededRandom(11);
    let wrong = 0;
    for (let deploy = 0; deploy < 200; deploy += 1) {
      const series = Array.from({ length: 5 }, (_, index) => ({
        series: { ...A_SERIES, scorer: `s${index}` },
        before: hours(DEPLOY_MS - 50 * HOUR_MS, 50, 0.8, random),
        after: hours(DEPLOY_MS, 24, 0.8, random),
      }));
      wrong += compareVersions(series).some(({ effect }) => effect === 'worse') ? 1 : 0;
    }
    expect(wrong).toBeLessThanOrEqual(10);
  });
});

describe('the least discovery', () => {
  test('is the last of the largest e-values that is large enough for its rank', () => {
    const ofValues = (...values: number[]) => leastDiscovery(values.map(Math.log));
    expect(ofValues()).toBe(Number.POSITIVE_INFINITY);
    expect(ofValues(19)).toBe(Number.POSITIVE_INFINITY);
    expect(ofValues(20)).toBe(Math.log(20));
    expect(ofValues(100, 30, 1)).toBe(Math.log(30));
    expect(ofValues(59, 29, 19)).toBe(Number.POSITIVE_INFINITY);
  });
});
