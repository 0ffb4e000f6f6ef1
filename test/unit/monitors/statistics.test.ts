import { describe, expect, it } from 'vitest';
import { NO_SCORES, type ScoreHistogram, buildHistogram } from '../../../src/monitors/bucket.ts';
import {
  EMPTY_REFERENCE,
  addToReference,
  chiSquared99,
  computeTolerance,
  pinBaseline,
} from '../../../src/monitors/statistics/baseline.ts';
import { meanEvidence, noEvidence, stakes, weigh } from '../../../src/monitors/statistics/evidence.ts';
import { type GuardState, meanGuard } from '../../../src/monitors/statistics/mean-guard.ts';
import { BUCKET_MS, scoreBuckets } from '../../support/builders/score-streams.ts';
import { fc } from '../../support/fast-check.ts';
import { MONITOR_START_MS, ONE_SERIES, steadyBuckets } from '../../support/monitors/fold-scores.ts';

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

  it('knows scores that come in clumps, and does not take them for hours or for slow variation', () => {
    const learn = (family: 'clumps' | 'beta', perHour: number) =>
      pinBaseline(
        [...scoreBuckets({ family, perHour, days: 14, seed: 7 })].reduce(addToReference, EMPTY_REFERENCE),
      );
    for (const perHour of [6, 60, 600]) {
      expect(learn('beta', perHour).clumping).toBe(1);
      const { clumping, slotMeans, slowVariance } = learn('clumps', perHour);
      expect(clumping).toBeGreaterThan(1.8);
      expect(clumping).toBeLessThan(3);
      expect({ hours: slotMeans.length, slowVariance }).toEqual({ hours: 1, slowVariance: 0 });
    }
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

it.each([
  [3, 11.345],
  [23, 41.638],
  [55, 82.292],
  [167, 212.0],
])(
  'the 99 %% point of chi-squared is within half a per cent of the tabulated 99 %% point for %i degrees of freedom',
  (degrees, tabulated) => {
    expect(Math.abs(chiSquared99(degrees) / tabulated - 1)).toBeLessThan(0.005);
  },
);

/** A distribution over scores of 0 to 1: values and probabilities that sum to 1. */
const distributions = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 1000 }), fc.integer({ min: 1, max: 100 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map((entries) => {
    const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
    return entries.map(([step, weight]) => [step / 1000, weight / total] as const);
  });

describe('evidence against a mean', () => {
  it('is expected to grow by no more than one a check of one score or two, whatever the distribution with a mean at the bound or above', () => {
    fc.assert(
      fc.property(
        distributions,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 0.25, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (distribution, part, variance, before) => {
          const mean = distribution.reduce((sum, [value, probability]) => sum + value * probability, 0);
          const bound = mean * part;
          const grid = stakes([variance], bound);
          const start = grid.map(() => before);
          const expectedOver = (draws: readonly (readonly [readonly number[], number])[]): number =>
            draws.reduce(
              (sum, [scores, probability]) =>
                sum + probability * meanEvidence(weigh(start, grid, bound, buildHistogram(scores))),
              0,
            );
          const one = distribution.map(([value, probability]) => [[value], probability] as const);
          const two = one.flatMap(([[first], likely]) =>
            distribution.map(([second, probability]) => [[first, second], likely * probability] as const),
          );
          expect(expectedOver(one)).toBeLessThanOrEqual((before + 1) * (1 + 1e-9));
          expect(expectedOver(two)).toBeLessThanOrEqual((before + 1) * (1 + 1e-9));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('keeps every factor positive for any score of 0 to 1', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -0.5, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 0.25, noNaN: true }),
        fc.constantFrom(0, 1),
        (bound, variance, score) => {
          const grid = stakes([variance], bound);
          expect(Math.min(...weigh(noEvidence(grid), grid, bound, buildHistogram([score])))).toBeGreaterThan(
            0,
          );
        },
      ),
    );
  });

  it('is fair where scores come in clumps of equal ones, and would not be if each counted alone', () => {
    const [grid, bound] = [stakes([0.1], 0.7), 0.7];
    const expected = (clumping: number) =>
      [0, 1].reduce((sum, score) => {
        const clump = buildHistogram([score, score, score]);
        const grown = meanEvidence(weigh(noEvidence(grid), grid, bound, clump, clumping));
        return sum + (score === 1 ? bound : 1 - bound) * grown;
      }, 0);
    expect(expected(3)).toBeCloseTo(1, 9);
    expect(expected(1)).toBeGreaterThan(1.5);
  });

  it('grows by exactly one in a bucket without scores', () => {
    const grid = stakes([0.1], 0.7);
    expect(weigh(noEvidence(grid), grid, 0.7, NO_SCORES)).toEqual(grid.map(() => 1));
  });

  it('is the product of all factors, be they few or many, of rising and falling evidence', () => {
    const histograms = fc.uniqueArray(
      fc.tuple(fc.integer({ min: 0, max: 1000 }), fc.oneof(fc.nat(3), fc.integer({ min: 4, max: 5000 }))),
      { maxLength: 40, selector: ([step]) => step },
    );
    fc.assert(
      fc.property(histograms, fc.double({ min: 0, max: 0.97, noNaN: true }), (entries, bound) => {
        const grid = stakes([0.05], bound);
        const values = entries.map(([step]) => step / 1000);
        const counts = entries.map(([, count]) => count);
        const weighed = weigh(noEvidence(grid), grid, bound, { values, counts });
        for (const [index, stake] of grid.entries()) {
          const logs = values.map((value, at) => (counts[at] ?? 0) * Math.log1p(stake * (bound - value)));
          const exact = Math.min(
            logs.reduce((sum, log) => sum + log, 0),
            600,
          );
          const got = Math.log(weighed[index] ?? 0);
          // Below the smallest number there is only 0, whose logarithm says no more than "very small".
          expect(exact > -700 ? Math.abs(got - exact) : Math.max(0, got + 700)).toBeLessThan(1e-6);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('stays finite however low the scores', () => {
    const grid = stakes([0.0001], 0.99);
    let evidence = noEvidence(grid);
    for (let check = 0; check < 50; check += 1) {
      evidence = weigh(evidence, grid, 0.99, { values: [0], counts: [10_000] });
    }
    expect(evidence.every((value) => Number.isFinite(value))).toBe(true);
  });
});

/** Guard of a mean of 0.8 with a tolerance of 0.02. */
const guard = meanGuard({
  bounds: [0.78],
  tolerance: 0.02,
  variances: [0.02],
  resolveAt: ONE_SERIES.resolveAt,
});
const NORMAL = buildHistogram([0.7, 0.9]);
const LOW = buildHistogram([0.6, 0.8]);
const COLLAPSED = buildHistogram([0.3, 0.5]);

function fold(state: GuardState, buckets: number, scores: ScoreHistogram): GuardState {
  let next = state;
  for (let index = 0; index < buckets; index += 1) {
    next = guard.step(next, { startMs: MONITOR_START_MS + index * BUCKET_MS, scores });
  }
  return next;
}

function raiseAfter(scores: ScoreHistogram): GuardState {
  return guard.raise(fold(guard.start(), 20, scores));
}

describe('the end of an alarm', () => {
  it('does not come while the mean stays low, even when the fall looked three times as large at the alarm', () => {
    const month = fold(raiseAfter(COLLAPSED), 8640, LOW);
    expect(month.alarm).not.toBeNull();
  });

  it('comes when the mean is normal again, after an alarm of an hour and of a month', () => {
    for (const buckets of [12, 8640]) {
      const alarm = fold(raiseAfter(LOW), buckets, LOW);
      expect(fold(alarm, 10, NORMAL).alarm).not.toBeNull();
      expect(fold(alarm, 120, NORMAL).alarm).toBeNull();
    }
  });

  it('comes when the mean recovers to the bound only', () => {
    const alarm = fold(raiseAfter(COLLAPSED), 500, COLLAPSED);
    expect(fold(alarm, 120, buildHistogram([0.68, 0.88])).alarm).toBeNull();
  });

  it.each([
    { does: 'does not come', where: 'its mean moved so before', slowVariance: 0.02 ** 2, ends: false },
    { does: 'comes', where: 'its mean did not move before', slowVariance: 0, ends: true },
  ])('$does while a low mean moves a little up, where $where', ({ slowVariance, ends }) => {
    const terms = { bounds: [0.74], tolerance: 0.06, variances: [0.01] as const, slowVariance };
    const wide = meanGuard({ ...terms, resolveAt: ONE_SERIES.resolveAt });
    const foldWide = (state: GuardState, buckets: number, mean: number) =>
      [...steadyBuckets(0, buckets, [mean - 0.1, mean + 0.1])].reduce(
        (last, bucket) => wide.step(last, bucket),
        state,
      );
    const alarm = wide.raise(foldWide(wide.start(), 20, 0.68));
    const moved = foldWide(foldWide(alarm, 500, 0.68), 400, 0.73);
    expect(moved.alarm === null).toBe(ends);
    expect(foldWide(moved, 120, 0.8).alarm).toBeNull();
  });

  it('does not come from a week without scores', () => {
    const alarm = raiseAfter(LOW);
    expect(fold(alarm, 2016, buildHistogram([])).alarm).not.toBeNull();
  });

  it('is found the same after a restart between any two buckets', () => {
    let restarted = raiseAfter(LOW);
    for (let index = 0; index < 60; index += 1) {
      restarted = JSON.parse(JSON.stringify(fold(restarted, 1, index < 20 ? LOW : NORMAL))) as GuardState;
    }
    expect(restarted).toEqual(fold(fold(raiseAfter(LOW), 20, LOW), 40, NORMAL));
  });
});
