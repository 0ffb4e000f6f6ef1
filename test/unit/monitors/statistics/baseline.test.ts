import { describe, expect, it } from 'vitest';
import { pinBaseline, computeTolerance } from '../../../../src/monitors/statistics/baseline.ts';
import { buildHistogram } from '../../../../src/monitors/bucket.ts';
import { EMPTY_REFERENCE, addToReference } from '../../../../src/monitors/statistics/baseline.ts';

const HOUR_MS = 3_600_000;
const HOURS_OF_WEEK = 168;
/** A Sunday. */
const START_MS = Date.UTC(2026, 0, 4);
const SPREAD = [-0.1, 0, 0, 0.1];

/** The baseline of so many hours of four scores each, about a mean that depends on the hour. */
function buildBaseline(hours: number, meanAt: (hour: number) => number) {
  let reference = EMPTY_REFERENCE;
  for (let hour = 0; hour < hours; hour += 1) {
    const scores = buildHistogram(SPREAD.map((deviation) => meanAt(hour) + deviation));
    reference = addToReference(reference, { startMs: START_MS + hour * HOUR_MS, scores });
  }
  return pinBaseline(reference);
}

const isSunday = (hour: number) => hour % HOURS_OF_WEEK < 24;
const isNight = (hour: number) => hour % 24 < 6;

describe('a baseline', () => {
  it('is one mean where hours do not differ', () => {
    const { slotMeans, slowVariance, mean } = buildBaseline(14 * 24, () => 0.8);
    expect(slotMeans).toEqual([mean]);
    expect(mean).toBeCloseTo(0.8, 9);
    expect(slowVariance).toBe(0);
  });

  it('has a mean for each hour of the day where they differ', () => {
    const { slotMeans, slowVariance } = buildBaseline(14 * 24, (hour) => (isNight(hour) ? 0.6 : 0.8));
    expect(slotMeans).toHaveLength(24);
    expect(slotMeans[3]).toBeCloseTo(0.6, 1);
    expect(slotMeans[12]).toBeCloseTo(0.8, 1);
    expect(slowVariance).toBe(0);
  });

  it('has a mean for each hour of the week, from Sunday on, after four weeks of them', () => {
    const { slotMeans, slowVariance } = buildBaseline(28 * 24, (hour) => (isSunday(hour) ? 0.6 : 0.8));
    expect(slotMeans).toHaveLength(HOURS_OF_WEEK);
    expect(slotMeans[12]).toBeCloseTo(0.6, 1);
    expect(slotMeans[24 + 12]).toBeCloseTo(0.8, 1);
    expect(slowVariance).toBe(0);
  });

  it('counts a weekly pattern as slow variation before that, and widens the tolerance', () => {
    const baseline = buildBaseline(27 * 24, (hour) => (isSunday(hour) ? 0.6 : 0.8));
    expect(baseline.slotMeans.length).toBeLessThan(HOURS_OF_WEEK);
    expect(Math.sqrt(baseline.slowVariance)).toBeGreaterThan(0.04);
    expect(computeTolerance(baseline, 0.02)).toBeGreaterThan(0.12);
  });
});

it.each([
  [300, 0.04],
  [100, 0.07],
  [10_000, 0.02],
])('of %i scores with a standard deviation of 0.3 a fall of %d is borne', (count, tolerance) => {
  const baseline = { mean: 0.8, variance: 0.09, count, slotMeans: [0.8], slowVariance: 0 };
  expect(computeTolerance(baseline, 0.02)).toBeCloseTo(tolerance, 2);
});
