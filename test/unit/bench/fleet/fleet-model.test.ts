import { describe, expect, it } from 'vitest';
import { simulateFleet, type FleetResult } from '../../../bench/fleet/fleet-model.ts';
import {
  computeSampleRate,
  DEFAULT_FLEET,
  FITTED,
  type FleetSettings,
} from '../../../bench/fleet/fleet-settings.ts';
import { computeJudgedPerSecond, computeScoreUsd } from '../../../bench/fleet/needs.ts';

/** Four scorers with 400 traces a second and money for all of them, a steady judge and no kill. */
function aFleet(more: Partial<FleetSettings> = {}): FleetSettings {
  return {
    ...DEFAULT_FLEET,
    spansPerSecond: 3_200,
    scorers: 4,
    seconds: 180,
    killEveryS: 0,
    places: 1_000,
    judgeMs: 500,
    slowFactor: 1,
    budgetPerDayUsd: 1e9,
    ...more,
  };
}

function expectNothingLost({ totals }: FleetResult): void {
  expect(totals.sampled + totals.leftOut).toBe(totals.ready);
  expect(totals.decided + totals.codeWaiting).toBe(totals.ready);
  expect(totals.scored + totals.judgedWaiting).toBe(totals.sampled);
}

describe('a fleet without faults', () => {
  it('decides every trace in the second in which it is ready', () => {
    const result = simulateFleet(aFleet());

    expectNothingLost(result);
    expect(result.totals.ready).toBeGreaterThan(0.98 * 400 * 180);
    expect(result.totals.ready).toBeLessThan(1.02 * 400 * 180);
    expect([result.codeLags.most(), result.judgedLags.most()]).toEqual([0, 0]);
    expect(result.totals).toMatchObject({ kills: 0, repeatedCalls: 0, strandedUsd: 0, unpaid: 0 });
  });

  it('gives the same result for the same seed, and another one for another', () => {
    const { totals } = simulateFleet(aFleet({ seed: 5 }));

    expect(simulateFleet(aFleet({ seed: 5 })).totals).toEqual(totals);
    expect(simulateFleet(aFleet({ seed: 6 })).totals).not.toEqual(totals);
  });

  it('falls behind when a process has more traces than its code scorers can decide', () => {
    const spansPerSecond = 8 * 4 * FITTED.codeTracesPerSecond * 2;
    const result = simulateFleet(aFleet({ spansPerSecond, seconds: 60 }));

    expectNothingLost(result);
    expect(result.totals.codeWaiting / result.totals.ready).toBeCloseTo(0.5, 1);
  });
});

describe('a killed process', () => {
  // The last kill lies before the last lease and sweep.
  const settings = aFleet({ killEveryS: 100, seconds: 190 });
  const result = simulateFleet(settings);

  it('loses no trace: the others take over its traces after the lease and the sweep', () => {
    expectNothingLost(result);
    expect(result.totals).toMatchObject({ kills: 1, codeWaiting: 0 });
    expect(result.codeLags.most()).toBeGreaterThanOrEqual(FITTED.leaseS - FITTED.beatS + FITTED.sweepS);
    expect(result.codeLags.most()).toBeLessThanOrEqual(FITTED.leaseS + FITTED.beatS + FITTED.sweepS + 1);
  });

  it('delays about its share of the traces of that time, and no others', () => {
    const delayed = 1 - result.codeLags.shareWithin(0);

    expect(delayed).toBeGreaterThan((0.5 * FITTED.leaseS) / 4 / settings.seconds);
    expect(delayed).toBeLessThan((2 * FITTED.leaseS) / 4 / settings.seconds);
  });

  it('leaves its block of the budget behind, at most 1 %, and the calls that it had begun', () => {
    const { strandedUsd, repeatedCalls } = result.totals;

    expect(strandedUsd).toBeGreaterThan(0);
    expect(strandedUsd).toBeLessThanOrEqual(settings.budgetPerDayUsd * FITTED.blockShare);
    expect(repeatedCalls).toBeGreaterThan(0);
    expect(repeatedCalls).toBeLessThanOrEqual(settings.places);
  });

  it('comes back: the fleet is whole again after the restart', () => {
    const alive = result.moments.map((moment) => moment.alive);

    expect(alive[99]).toBe(4);
    expect(alive.slice(100, 100 + settings.restartS)).toEqual(
      Array.from({ length: settings.restartS }, () => 3),
    );
    expect(alive.at(-1)).toBe(4);
  });

  it('is missed by nobody when it was the only one, until its successor takes its traces', () => {
    const alone = simulateFleet(aFleet({ scorers: 1, killEveryS: 100, seconds: 190 }));

    expectNothingLost(alone);
    expect(alone.totals.codeWaiting).toBe(0);
    expect(alone.codeLags.most()).toBeGreaterThanOrEqual(settings.restartS);
  });
});

describe('judges', () => {
  it('bound the scores a second by their places and their time', () => {
    const result = simulateFleet(aFleet({ places: 8, judgeMs: 2_000 }));
    const perSecond = 4 * computeJudgedPerSecond(8, 2_000);

    expectNothingLost(result);
    expect(result.totals.scored / 180).toBeGreaterThan(0.95 * perSecond);
    expect(result.totals.scored / 180).toBeLessThan(1.05 * perSecond);
    expect(result.totals.judgedWaiting).toBeGreaterThan(0);
    expect(result.codeLags.most()).toBe(0);
  });

  it('leave the oldest traces waiting when they take the newest ones first, and the newest when they take the oldest', () => {
    const slow = { places: 8, judgeMs: 2_000 };
    const newest = simulateFleet(aFleet({ ...slow, newestShare: 1 }));
    const oldest = simulateFleet(aFleet({ ...slow, newestShare: 0 }));

    expect(newest.judgedLags.most()).toBe(0);
    expect(oldest.judgedLags.quantile(0.5)).toBeGreaterThan(30);
  });

  it('that are slow for a time have a backlog, which they work off later', () => {
    const result = simulateFleet(
      aFleet({
        places: 80,
        judgeMs: 400,
        slowFactor: 8,
        slowForS: 30,
        slowEveryS: 100,
        seconds: 600,
        seed: 3,
      }),
    );
    const waiting = result.moments.map(({ judgedWaiting }) => judgedWaiting);

    expectNothingLost(result);
    expect(Math.max(...waiting)).toBeGreaterThan(1_000);
    expect(waiting.filter((traces) => traces === 0).length).toBeGreaterThan(100);
    expect(Math.max(...result.moments.map(({ judgeMs }) => judgeMs))).toBeGreaterThan(400 * 8 * 0.8);
  });
});

describe('the budget', () => {
  it('sets the sample rate: half the money, half the sample; enough money, all traces', () => {
    const rate = (budgetPerDayUsd: number) => computeSampleRate(aFleet({ budgetPerDayUsd }));

    expect(rate(50)).toBeCloseTo(rate(100) / 2, 12);
    expect(rate(1e9)).toBe(1);
  });

  it('pays for its part of the day', () => {
    const settings = aFleet({ budgetPerDayUsd: 2_400, seconds: 3_600 });
    const { totals } = simulateFleet(settings);

    expect(totals.spentUsd).toBeGreaterThan(95);
    expect(totals.spentUsd).toBeLessThan(105);
    expect(totals.spentUsd).toBeCloseTo(totals.scored * computeScoreUsd(settings.price), 6);
  });

  it('is never exceeded, also when killed processes take parts of it with them: then the last scores of the day wait', () => {
    const settings = aFleet({
      spansPerSecond: 8,
      scorers: 1,
      budgetPerDayUsd: 40,
      killEveryS: 3_600,
      seconds: 86_400,
    });
    const result = simulateFleet(settings);
    const { spentUsd, strandedUsd, unpaid, judgedWaiting } = result.totals;

    expectNothingLost(result);
    expect(strandedUsd).toBeGreaterThan(1);
    expect(spentUsd + strandedUsd).toBeLessThanOrEqual(40 + 1e-6);
    expect(spentUsd + strandedUsd).toBeGreaterThan(39);
    expect([unpaid > 0, judgedWaiting > 0]).toEqual([true, true]);
  });
});
