import { describe, expect, it } from 'vitest';
import { showStatus, type StatusReport } from '../../../../src/cli/show/show-status.ts';

function buildReport(unpriced: number): StatusReport {
  const scoring = {
    waiting: 0,
    queued: 0,
    waitingForRoom: 0,
    inFlight: 0,
    retries: 0,
    spilled: 0,
    oldestWaitMs: null,
    oldestQueuedMs: null,
    lagMs: null,
    fault: null,
    unpriced,
  };
  return {
    serve: null,
    scoring,
    judges: [],
    notReady: {},
  };
}

describe('the status of sampling', () => {
  it('counts the traces of which costly does not know the cost', () => {
    expect(showStatus(buildReport(3))).toContain(
      'the cost of 3 traces is unknown, so they are not costly: give their models a price (judges.prices)',
    );
  });

  it('says nothing without such traces', () => {
    expect(showStatus(buildReport(0))).not.toContain('costly');
  });
});
