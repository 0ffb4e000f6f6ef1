import { describe, expect, it } from 'vitest';
import { computeSessionWait } from '../../../../src/scoring/sessions/score-session.ts';
import { buildDecision } from '../../../support/store/store-rows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SETTINGS = { idleMs: 30 * MINUTE, maxAgeMs: 24 * HOUR, rescores: 24 };

function wait(nowMs: number, { first = 0, last = 0 }, ...prior: Parameters<typeof buildDecision>[0][]) {
  const activity = { tenant: '', sessionId: 's', firstArrivalMs: first, lastArrivalMs: last };
  return computeSessionWait(
    activity,
    prior.map((row) => buildDecision(row)),
    nowMs,
    SETTINGS,
  );
}

describe('a session', () => {
  it('is ready when it was idle for long enough', () => {
    expect(wait(30 * MINUTE - 1, {})).toBe(30 * MINUTE);
    expect(wait(30 * MINUTE, {})).toBeNull();
  });

  it('that is never idle is ready at its maximum age, and again as long after that decision', () => {
    expect(wait(24 * HOUR - 1, { last: 24 * HOUR - 2 })).toBe(24 * HOUR);
    expect(wait(24 * HOUR, { last: 24 * HOUR - 1 })).toBeNull();
    const decided = { evidenceUntil: 24 * HOUR, decidedAt: 24 * HOUR, status: 'scored' as const };
    expect(wait(47 * HOUR, { last: 47 * HOUR - 1 }, decided)).toBe(47.5 * HOUR - 1);
    expect(wait(48 * HOUR, { last: 48 * HOUR - 1 }, decided)).toBeNull();
  });

  it('is scored again as soon as it is idle after new turns', () => {
    const scored = { evidenceUntil: 0, decidedAt: 30 * MINUTE, status: 'scored' as const };
    expect(wait(60 * MINUTE, { last: 31 * MINUTE }, scored)).toBe(61 * MINUTE);
    expect(wait(61 * MINUTE, { last: 31 * MINUTE }, scored)).toBeNull();
  });

  it('counts the results of the last day when the limit was lowered meanwhile', () => {
    const activity = { tenant: '', sessionId: 's', firstArrivalMs: 0, lastArrivalMs: 4 * HOUR };
    const settings = { ...SETTINGS, rescores: 2 };
    const results = [1 * HOUR, 2 * HOUR, 3 * HOUR];
    expect(computeSessionWait(activity, [], 5 * HOUR, settings, results)).toBe(26 * HOUR);
  });

  it('without new turns does not wait: its deferred decisions may be due', () => {
    expect(wait(1, { last: 5 }, { evidenceUntil: 5, status: 'deferred' })).toBeNull();
  });
});
