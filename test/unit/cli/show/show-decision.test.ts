import { describe, expect, it } from 'vitest';
import { showDecision } from '../../../../src/cli/commands/score.ts';
import { buildDecision } from '../../../support/store/store-rows.ts';

describe('a deferred decision for people', () => {
  const row = buildDecision({ status: 'deferred', reason: 'judge_unavailable', nextAttemptAt: 5_000 });

  it('shows the time of the next attempt', () => {
    expect(showDecision(row, 4_000)).toMatch(/\(next attempt at 1970-01-01T00:00:05\.000Z\)$/);
  });

  it('omits a time in the past', () => {
    expect(showDecision(row, 6_000)).toMatch(/\(serve retries it next\)$/);
  });

  it('says that the run was read by shape', () => {
    expect(showDecision({ ...row, readByShape: true }, 6_000)).toContain(' (read by shape) ');
  });
});
