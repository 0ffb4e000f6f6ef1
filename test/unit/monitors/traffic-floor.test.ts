import { describe, expect, test } from 'vitest';
import { countTraffic, hasTraffic, NO_TRAFFIC } from '../../../src/monitors/traffic-floor.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FLOOR = 20;

/** Traffic after scores at hours since the epoch. */
function after(...scores: readonly (readonly [hour: number, count: number])[]) {
  return scores.reduce(
    (traffic, [hour, count]) => countTraffic(traffic, hour * HOUR_MS, count, FLOOR),
    NO_TRAFFIC,
  );
}

describe('the traffic of a part', () => {
  test('reaches the floor with the score of a day that makes it up, whenever in the day', () => {
    expect(hasTraffic(after([1, 10], [23, 9]), 23 * HOUR_MS)).toBe(false);
    expect(hasTraffic(after([1, 10], [23, 10]), 23 * HOUR_MS)).toBe(true);
  });

  test('is counted by days, not over midnight', () => {
    expect(hasTraffic(after([23, 19], [24, 19]), DAY_MS)).toBe(false);
  });

  test('keeps its place for a week below the floor, not for longer', () => {
    const traffic = after([1, FLOOR], [30, 1], [150, 1]);
    expect(hasTraffic(traffic, 8 * DAY_MS - 1)).toBe(true);
    expect(hasTraffic(traffic, 8 * DAY_MS)).toBe(false);
    expect(hasTraffic(countTraffic(traffic, 7 * DAY_MS, FLOOR, FLOOR), 8 * DAY_MS)).toBe(true);
  });
});
