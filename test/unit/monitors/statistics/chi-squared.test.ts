import { expect, it } from 'vitest';
import { chiSquared99 } from '../../../../src/monitors/statistics/baseline.ts';

it.each([
  [3, 11.345],
  [23, 41.638],
  [55, 82.292],
  [167, 212.0],
])(
  'is within half a per cent of the tabulated 99 %% point for %i degrees of freedom',
  (degrees, tabulated) => {
    expect(Math.abs(chiSquared99(degrees) / tabulated - 1)).toBeLessThan(0.005);
  },
);
