import { describe, expect, test } from 'vitest';
import { computeWilsonInterval } from '../../../../src/domain/agreement/agreement.ts';

describe('the interval of a share', () => {
  // R. G. Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('is the published one for %i of %i', (count, n, low, high) => {
    const found = computeWilsonInterval({ share: count / n, n });
    expect(found?.low).toBeCloseTo(low, 4);
    expect(found?.high).toBeCloseTo(high, 4);
  });

  test('stays within 0 and 1, and is the same for yes and no', () => {
    const all = computeWilsonInterval({ share: 1, n: 7.5 });
    const none = computeWilsonInterval({ share: 0, n: 7.5 });
    expect(all?.high).toBe(1);
    expect(none?.low).toBe(0);
    expect(all?.low).toBeCloseTo(1 - (none?.high ?? 0), 12);
  });

  test('is not known without observations', () => {
    expect(computeWilsonInterval({ share: 0, n: 0 })).toBeNull();
  });
});
