import { describe, expect, it } from 'vitest';
import { sampleTrace, drawUniform } from '../../../../src/scoring/select/sample-trace.ts';
import { fc } from '../../../support/fast-check.ts';

const traceId = fc.stringMatching(/^[0-9a-f]{32}$/);
const rate = fc.double({ min: 0, max: 1, noNaN: true });
const quiet = {
  hasError: false,
  hasToolError: false,
  hasNegativeFeedback: false,
  durationMs: 0,
  isFirstOfVersion: false,
};

describe('the draw of a trace', () => {
  it('is the same everywhere and at any time', () => {
    expect(drawUniform('4bf92f3577b34da6a3ce929d0e0e4736')).toBe(0.5658556483058419);
    expect(drawUniform('4BF92F3577B34DA6A3CE929D0E0E4736')).toBe(0.5658556483058419);
  });

  it('is uniform for any form of ids', () => {
    const draws = Array.from({ length: 20_000 }, (_, index) =>
      drawUniform(index.toString(16).padStart(32, '0')),
    );
    const buckets = Array.from({ length: 20 }, () => 0);
    for (const draw of draws) {
      buckets[Math.floor(draw * 20)]! += 1;
    }
    const chiSquare = buckets.reduce((sum, count) => sum + (count - 1_000) ** 2 / 1_000, 0);
    // The 99.9 % quantile for 19 degrees of freedom.
    expect(chiSquare).toBeLessThan(43.8);
  });

  it('lies in [0, 1)', () => {
    fc.assert(
      fc.property(traceId, (id) => {
        expect(drawUniform(id)).toBeGreaterThanOrEqual(0);
        expect(drawUniform(id)).toBeLessThan(1);
      }),
    );
  });
});

describe('sampling', () => {
  it('keeps everything at rate 1 and nothing at rate 0', () => {
    fc.assert(
      fc.property(traceId, (id) => {
        expect(sampleTrace(id, { rate: 1, always: [] })).toEqual({
          included: true,
          stratum: 'uniform',
          inclusionProbability: 1,
          weight: 1,
        });
        expect(sampleTrace(id, { rate: 0, always: [] })).toMatchObject({ included: false, weight: null });
      }),
    );
  });

  it('is nested: a higher rate takes every trace of a lower rate', () => {
    fc.assert(
      fc.property(traceId, rate, rate, (id, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const isIn = (each: number) => sampleTrace(id, { rate: each, always: [] }).included;
        expect(!isIn(low) || isIn(high)).toBe(true);
      }),
    );
  });

  it('calls a priority trace of the draw uniform, and gives both the weight 1', () => {
    fc.assert(
      fc.property(traceId, rate, (id, p) => {
        const sample = sampleTrace(id, { rate: p, always: ['error'] }, { ...quiet, hasError: true });
        const drawn = sampleTrace(id, { rate: p, always: [] }).included;
        expect(sample).toEqual({
          included: true,
          stratum: drawn ? 'uniform' : 'priority',
          inclusionProbability: 1,
          weight: 1,
        });
      }),
    );
  });

  it.each([
    ['error', { hasError: true }],
    ['tool-error', { hasToolError: true }],
    ['negative-feedback', { hasNegativeFeedback: true }],
  ] as const)('takes %s traces only when told to', (reason, facts) => {
    const all = { ...quiet, ...facts };
    expect(sampleTrace('a', { rate: 0, always: [reason] }, all).included).toBe(true);
    expect(sampleTrace('a', { rate: 0, always: [] }, all).included).toBe(false);
    expect(sampleTrace('a', { rate: 0, always: [reason] }, quiet).included).toBe(false);
  });

  it('gives weights that make the weighted mean of a mixed sample right', () => {
    const ids = Array.from({ length: 40_000 }, (_, index) => index.toString(16).padStart(32, '0'));
    let weights = 0;
    let weighted = 0;
    for (const [index, id] of ids.entries()) {
      const isError = index % 20 === 0;
      const { weight } = sampleTrace(id, { rate: 0.05, always: ['error'] }, { ...quiet, hasError: isError });
      weights += weight ?? 0;
      weighted += (weight ?? 0) * (isError ? 0.3 : 0.826);
    }
    expect(weighted / weights).toBeCloseTo(0.05 * 0.3 + 0.95 * 0.826, 2);
  });
});
