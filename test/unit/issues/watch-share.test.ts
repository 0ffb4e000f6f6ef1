import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/domain/durations.ts';
import {
  boundShare,
  computeThresholds,
  ShareWatch,
  verifyShare,
  type WatchTerms,
} from '../../../src/issues/watch-share.ts';
import { drawHours, lookAt, watchReturn } from '../../support/builders/issue-streams.ts';

const SHAPE = { share: 0.02, perHour: 100, rate: 1, seed: 11 };
const CHANGED = { ...SHAPE, days: 34 };

describe('the share of an issue', () => {
  it.each([
    ['stays open while it stays', drawHours({ ...SHAPE, days: 60 }), ['open']],
    [
      'escalates when it rises, until that is the usual level',
      drawHours({ ...CHANGED, days: 50, change: { day: 20, share: 0.06 } }),
      ['open', 'escalating', 'open'],
    ],
    [
      'escalates among runs of which a part is read',
      drawHours({ ...CHANGED, days: 30, perHour: 2_000, rate: 0.05, change: { day: 20, share: 0.06 } }),
      ['open', 'escalating'],
    ],
    [
      'fades when it falls',
      drawHours({ ...CHANGED, days: 26, change: { day: 20, share: 0.004 } }),
      ['open', 'fading'],
    ],
    [
      'is quiet when it is gone',
      drawHours({ ...CHANGED, perHour: 1_000, days: 26, change: { day: 20, share: 0 } }),
      ['open', 'fading', 'resolved'],
    ],
  ])('%s', (_, hours, states) => {
    const seen = lookAt(hours, 20).map(({ state }) => state);
    expect(seen.filter((state, at) => state !== seen[at - 1])).toEqual(states);
  });

  it('is found the same by looks at each hour and by one look at the end', () => {
    const hours = drawHours({ ...CHANGED, days: 24, change: { day: 20, share: 0.06 } });
    const terms = { firstSeenMs: 0, nowMs: 24 * DAY_MS, thresholds: computeThresholds(1, 20), raised: null };
    expect(lookAt(hours, 20).at(-1)).toMatchObject(new ShareWatch().follow(hours, terms, 0));
  });

  it('is followed again when an early run comes late', () => {
    const hours = drawHours({ ...CHANGED, days: 24, change: { day: 20, share: 0.06 } });
    const calm = drawHours({ ...CHANGED, days: 24 });
    const terms = { firstSeenMs: 0, nowMs: 24 * DAY_MS, thresholds: computeThresholds(1, 20), raised: null };
    const watch = new ShareWatch();
    expect(watch.follow(calm, terms, 0).state).toBe('open');
    expect(watch.follow(hours, terms, 20 * DAY_MS).state).toBe('escalating');
  });

  it('that a person was told of escalates until it is proved to be back', () => {
    const hours = drawHours({ ...SHAPE, days: 10, change: { day: 9.95, share: 0.06 } });
    const terms = { firstSeenMs: 0, nowMs: 10 * DAY_MS, thresholds: computeThresholds(1, 1_000_000) };
    const find = (raised: WatchTerms['raised']) =>
      new ShareWatch().follow(hours, { ...terms, raised }, 0).state;
    expect(find(null)).toBe('open');
    expect(find({ state: 'escalating', atMs: 10 * DAY_MS - 1 })).toBe('escalating');
  });
});

describe('a resolved issue', () => {
  it('is back soon after its share is, and not before', () => {
    expect(watchReturn({ ...SHAPE, backDay: 27 })).toBeLessThan(2_500);
    expect(watchReturn({ ...SHAPE, backDay: null })).toBeNull();
  });
});

describe('the verification of a version', () => {
  const before = { value: 0.02, low: 0.015, high: 0.026, n: 4_000 };
  it.each([
    ['is verified', 1_500, 0, 'verified'],
    ['runs while there are few runs', 300, 0, 'running'],
    ['fails where nothing has changed', 1_500, 30, 'not-verified'],
    ['runs near a quarter of the share', 1_500, 7, 'running'],
  ])('%s: %i runs, %i of them failing', (_, runs, failing, state) => {
    const range = boundShare({ startMs: 0, runs, weights: [1], counts: [failing] });
    expect(verifyShare(before, { ...range, value: failing / runs, n: runs })).toBe(state);
    expect(range.low).toBeLessThanOrEqual(failing / runs);
    expect(range.high).toBeGreaterThan(failing / runs);
  });

  it('keeps the weights of sampled runs: few of them decide less', () => {
    const [whole, sampled] = [
      { startMs: 0, runs: 10_000, weights: [1], counts: [100] },
      { startMs: 0, runs: 10_000, weights: [20], counts: [5] },
    ].map(boundShare);
    expect(sampled!.high - sampled!.low).toBeGreaterThan(2 * (whole!.high - whole!.low));
  });
});
