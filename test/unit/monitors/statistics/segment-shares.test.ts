import { describe, expect, test } from 'vitest';
import { segmentShares, type SegmentSums } from '../../../../src/monitors/statistics/segment-shares.ts';

/** Builds the sums of a part from its numbers of scores and its means, before and after. */
function part(
  value: string,
  [countBefore, before]: readonly [number, number],
  [count, mean]: readonly [number, number],
  dimension: SegmentSums['dimension'] = 'model',
): SegmentSums {
  return { dimension, value, count, sum: count * mean, countBefore, sumBefore: countBefore * before };
}

const NONE = [0, 0] as const;
const listShares = (parts: readonly SegmentSums[]) =>
  Object.fromEntries(segmentShares(parts).map(({ value, share }) => [value, expect.closeTo(share, 9)]));
const mixOf = (parts: readonly SegmentSums[]) => segmentShares(parts)[0]?.mixShare;

describe('shares of segments', () => {
  test('compare each part with its own past: a part that was always lower is no cause', () => {
    const parts = [part('A', [700, 0.9], [700, 0.8]), part('B', [300, 0.6], [300, 0.6])];
    expect({ A: 1, B: 0 }).toEqual(listShares(parts));
    expect(mixOf(parts)).toBeCloseTo(0, 9);
  });

  test('call it mix when only the traffic of a part grew', () => {
    const parts = [part('A', [700, 0.9], [700, 0.9]), part('B', [300, 0.6], [600, 0.6])];
    expect({ A: 0, B: 0 }).toEqual(listShares(parts));
    expect(mixOf(parts)).toBeCloseTo(1, 9);
  });

  test('blame a new version, whose past is that of all, as within', () => {
    const deployed = [part('v1', [1000, 0.9], NONE), part('v2', NONE, [1000, 0.7])];
    expect(segmentShares(deployed)).toEqual([
      expect.objectContaining({ value: 'v2', share: expect.closeTo(1, 9), before: null, isNew: true }),
    ]);
    const half = [part('v1', [1000, 0.9], [500, 0.9]), part('v2', NONE, [500, 0.7])];
    expect({ v1: 0, v2: 1 }).toEqual(listShares(half));
  });

  test('and the mix sum to one over each dimension, also when a part got better', () => {
    const parts = [
      part('old', [80, 0.9], [60, 0.95]),
      part('new', [20, 0.8], [40, 0.4]),
      part('shop', [100, 0.88], [100, 0.73], 'service'),
    ];
    const shares = segmentShares(parts);
    const models = shares.filter(({ dimension }) => dimension === 'model');
    expect(models.reduce((sum, { share }) => sum + share, models[0]?.mixShare ?? 0)).toBeCloseTo(1, 12);
    expect(models.at(-1)).toMatchObject({ value: 'old' });
    expect(models.at(-1)?.share).toBeLessThan(0);
    expect(shares.at(-1)).toMatchObject({ dimension: 'service', share: expect.closeTo(1, 9) });
  });

  test.each([
    ['nothing is known of before', NONE, NONE],
    ['nothing changed', [60, 0.9], [40, 0.4]],
  ] as const)('are the parts of the scores where %s', (_, old, recent) => {
    expect({ old: 0.6, new: 0.4 }).toEqual(
      listShares([part('old', old, [60, 0.9]), part('new', recent, [40, 0.4])]),
    );
  });

  test('leave out values that are unknown for all scores, but not values that some scores have', () => {
    const model = part('m', [9, 0.9], [9, 0.4]);
    const unknown = part('', [9, 0.9], [9, 0.8], 'agent_version');
    expect(segmentShares([unknown, model]).map(({ value }) => value)).toEqual(['m']);
    const known = part('v2', [9, 0.9], [9, 0.1], 'agent_version');
    expect(segmentShares([unknown, known]).map(({ value }) => value)).toEqual(['v2', '']);
  });

  test('are listed for the ten parts that contributed most', () => {
    const parts = Array.from({ length: 30 }, (_, index) =>
      part(`v${index}`, [10, 1], [10, (index % 10) / 10]),
    );
    const shares = segmentShares(parts);
    expect(shares).toHaveLength(10);
    expect(shares[0]).toMatchObject({ value: 'v0', mean: 0, before: 1 });
  });
});
