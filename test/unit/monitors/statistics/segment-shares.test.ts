import { describe, expect, test } from 'vitest';
import { segmentShares } from '../../../../src/monitors/statistics/segment-shares.ts';

const MODELS = [
  { dimension: 'model', value: 'old', count: 60, sum: 54 },
  { dimension: 'model', value: 'new', count: 40, sum: 16 },
] as const;

describe('shares of segments', () => {
  test('say which part of the traffic a drop came from', () => {
    const shares = segmentShares(MODELS, 0.9);
    expect(shares).toEqual([
      { dimension: 'model', value: 'new', count: 40, mean: 0.4, share: 1 },
      { dimension: 'model', value: 'old', count: 60, mean: 0.9, share: 0 },
    ]);
  });

  test('sum to one over each dimension, also when a part got better', () => {
    const shares = segmentShares(
      [...MODELS, { dimension: 'service', value: 'shop', count: 100, sum: 70 }],
      0.85,
    );
    const models = shares.filter(({ dimension }) => dimension === 'model');
    expect(models.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(models.map(({ share }) => share)).toEqual([expect.closeTo(1.2, 9), expect.closeTo(-0.2, 9)]);
    expect(shares.at(-1)).toMatchObject({ dimension: 'service', share: 1 });
  });

  test.each([
    ['nothing is known of before', null],
    ['nothing is lacking', 0.2],
  ])('are those of the scores where %s', (_, before) => {
    expect(segmentShares(MODELS, before).map(({ value, share }) => [value, share])).toEqual([
      ['old', 0.6],
      ['new', 0.4],
    ]);
  });

  test('leave out values that are unknown for all scores, but not values that some scores have', () => {
    const unknown = { dimension: 'agent_version', value: '', count: 100, sum: 70 } as const;
    expect(segmentShares([unknown, ...MODELS], 0.9).map(({ value }) => value)).toEqual(['new', 'old']);
    const known = { ...unknown, value: 'v2', sum: 10 };
    expect(segmentShares([unknown, known], 0.9).map(({ value }) => value)).toEqual(['v2', '']);
  });

  test('are listed for the ten parts that contributed most', () => {
    const parts = Array.from({ length: 30 }, (_, index) => ({
      dimension: 'service_version' as const,
      value: `v${index}`,
      count: 10,
      sum: index % 10,
    }));
    const shares = segmentShares(parts, 1);
    expect(shares).toHaveLength(10);
    expect(shares[0]).toMatchObject({ value: 'v0', mean: 0 });
  });
});
