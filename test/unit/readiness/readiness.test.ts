import { describe, expect, it } from 'vitest';
import { checkReadiness } from '../../../src/readiness/readiness.ts';
import { fc } from '../../support/fast-check.ts';

const settings = { decisionWaitMs: 5_000, maxWaitMs: 900_000 };
const state = { rootSeen: true, parentMissing: false, quietMs: 0, ageMs: 0 };

describe('readiness', () => {
  it('waits a decision wait after the root has ended', () => {
    expect(checkReadiness({ ...state, quietMs: 4_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...state, quietMs: 5_000 }, settings)).toBe('ended');
  });

  it('waits for a parent that has not come, to the maximum wait', () => {
    const missing = { ...state, parentMissing: true, quietMs: 800_000 };
    expect(checkReadiness({ ...missing, ageMs: 899_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...missing, ageMs: 900_000 }, settings)).toBe('max_wait');
  });

  it('waits six times as long without a root', () => {
    const rootless = { ...state, rootSeen: false, parentMissing: true };
    expect(checkReadiness({ ...rootless, quietMs: 29_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...rootless, quietMs: 30_000 }, settings)).toBe('quiet');
  });

  it('never waits longer than the maximum, and stays ready as time passes', () => {
    const any = fc.record({
      rootSeen: fc.boolean(),
      parentMissing: fc.boolean(),
      quietMs: fc.nat(1_000_000),
      ageMs: fc.nat(1_000_000),
    });
    fc.assert(
      fc.property(any, fc.nat(1_000_000), (each, laterMs) => {
        const now = checkReadiness(each, settings);
        const later = checkReadiness(
          { ...each, quietMs: each.quietMs + laterMs, ageMs: each.ageMs + laterMs },
          settings,
        );
        expect(each.ageMs < settings.maxWaitMs || now !== null).toBe(true);
        expect(now === null || later !== null).toBe(true);
      }),
    );
  });
});
