import { expect, it } from 'vitest';
import { estimateSeconds, type Pace } from '../../../src/estimate/estimate-time.ts';

const PACE: Pace = {
  findProvider: () => ({ concurrency: 10 }),
  places: 20,
  tracesPerSecond: null,
  traces: null,
};
const CALLS = [{ model: 'fake/judge', calls: 600, inputTokens: 60_000, outputTokens: 6_000 }];
const LATENCIES = new Map([['fake/judge', 2_000]]);
const estimate = (pace: Partial<Pace>, calls = CALLS) =>
  estimateSeconds({ targets: 600, calls, latencies: LATENCIES }, { ...PACE, ...pace });

it('the time is that of the narrowest limit', () => {
  expect(estimate({})).toBe(120);
  expect(estimate({ places: 2 })).toBe(600);
  expect(estimate({ traces: 1 })).toBe(1_200);
  expect(estimate({ tracesPerSecond: 0.5 })).toBe(1_200);
  expect(estimate({ findProvider: () => ({ concurrency: 10, requestsPerMinute: 60 }) })).toBe(600);
  expect(estimate({ findProvider: () => ({ concurrency: 10, tokensPerMinute: 11_000 }) })).toBe(360);
});

it('without judge calls, traces take their time', () => {
  expect(estimate({}, [])).toBe(1);
});
