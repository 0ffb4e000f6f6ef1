import { describe, expect, it } from 'vitest';
import { buildHistogram, type ScoreHistogram } from '../../../../src/monitors/bucket.ts';
import type { GuardState } from '../../../../src/monitors/statistics/mean-guard.ts';
import { meanGuard } from '../../../../src/monitors/statistics/mean-guard.ts';
import { BUCKET_MS } from '../../../support/builders/score-streams.ts';
import { MONITOR_START_MS, ONE_SERIES } from '../../../support/monitors/fold-scores.ts';

/** Guard of a mean of 0.8 with a tolerance of 0.02. */
const guard = meanGuard({
  bounds: [0.78],
  tolerance: 0.02,
  variances: [0.02],
  resolveAt: ONE_SERIES.resolveAt,
});
const NORMAL = buildHistogram([0.7, 0.9]);
const LOW = buildHistogram([0.6, 0.8]);
const COLLAPSED = buildHistogram([0.3, 0.5]);

function fold(state: GuardState, buckets: number, scores: ScoreHistogram): GuardState {
  let next = state;
  for (let index = 0; index < buckets; index += 1) {
    next = guard.step(next, { startMs: MONITOR_START_MS + index * BUCKET_MS, scores });
  }
  return next;
}

function raiseAfter(scores: ScoreHistogram): GuardState {
  return guard.raise(fold(guard.start(), 20, scores));
}

describe('the end of an alarm', () => {
  it('does not come while the mean stays low, even when the fall looked three times as large at the alarm', () => {
    const month = fold(raiseAfter(COLLAPSED), 8640, LOW);
    expect(month.alarm).not.toBeNull();
  });

  it('comes when the mean is normal again, after an alarm of an hour and of a month', () => {
    for (const buckets of [12, 8640]) {
      const alarm = fold(raiseAfter(LOW), buckets, LOW);
      expect(fold(alarm, 10, NORMAL).alarm).not.toBeNull();
      expect(fold(alarm, 120, NORMAL).alarm).toBeNull();
    }
  });

  it('comes when the mean recovers to the bound only', () => {
    const alarm = fold(raiseAfter(COLLAPSED), 500, COLLAPSED);
    expect(fold(alarm, 120, buildHistogram([0.68, 0.88])).alarm).toBeNull();
  });

  it('does not come from a week without scores', () => {
    const alarm = raiseAfter(LOW);
    expect(fold(alarm, 2016, buildHistogram([])).alarm).not.toBeNull();
  });

  it('is found the same after a restart between any two buckets', () => {
    let restarted = raiseAfter(LOW);
    for (let index = 0; index < 60; index += 1) {
      restarted = JSON.parse(JSON.stringify(fold(restarted, 1, index < 20 ? LOW : NORMAL))) as GuardState;
    }
    expect(restarted).toEqual(fold(fold(raiseAfter(LOW), 20, LOW), 40, NORMAL));
  });
});
