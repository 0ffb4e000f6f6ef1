import { describe, expect, it } from 'vitest';
import { createBacklog } from '../../../bench/fleet/backlog.ts';
import { createLags } from '../../../bench/fleet/lags.ts';

function aBacklog() {
  const backlog = createBacklog();
  backlog.add({ readyAtS: 5, traces: 2 });
  backlog.add({ readyAtS: 9, traces: 4 });
  // Traces that a sweep found come later than younger ones.
  backlog.add({ readyAtS: 7, traces: 3 });
  return backlog;
}

describe('a backlog', () => {
  it('gives the oldest traces first, parts of a second included', () => {
    const backlog = aBacklog();

    expect(backlog.takeOldest(4)).toEqual([
      { readyAtS: 5, traces: 2 },
      { readyAtS: 7, traces: 2 },
    ]);
    expect(backlog.size()).toBe(5);
  });

  it('gives the newest traces first when they are asked for', () => {
    const backlog = aBacklog();

    expect(backlog.takeNewest(5)).toEqual([
      { readyAtS: 9, traces: 4 },
      { readyAtS: 7, traces: 1 },
    ]);
    expect(backlog.takeOldest(100)).toEqual([
      { readyAtS: 5, traces: 2 },
      { readyAtS: 7, traces: 2 },
    ]);
    expect([backlog.size(), backlog.takeNewest(1)]).toEqual([0, []]);
  });
});

describe('lags', () => {
  it('tell the time within which a share of the traces was decided', () => {
    const lags = createLags();
    lags.add([{ readyAtS: 10, traces: 98 }], 10);
    lags.add([{ readyAtS: 10, traces: 1 }], 14);
    lags.add([{ readyAtS: 10, traces: 1 }], 17);

    expect([0.5, 0.98, 0.99, 1].map((share) => lags.quantile(share))).toEqual([0, 0, 4, 7]);
    expect([lags.most(), lags.traces(), lags.shareWithin(4)]).toEqual([7, 100, 0.99]);
  });

  it('have no time without a trace', () => {
    expect(createLags().quantile(0.5)).toBeNaN();
  });
});
