import { describe, expect, it } from 'vitest';
import { buildHistogram, NO_SCORES } from '../../../../src/monitors/bucket.ts';
import { meanEvidence, noEvidence, stakes, weigh } from '../../../../src/monitors/statistics/evidence.ts';
import { fc } from '../../../support/fast-check.ts';

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
