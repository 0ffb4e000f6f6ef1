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

it('the status names each source and each exporter, with its fault', () => {
  const exporter = { sent: 1, waiting: 2, deadLetters: 0, skipped: 0 };
  const shown = showStatus({
    ...buildReport(0),
    sources: [
      { name: 'old', spans: 7, lag: 3, lastError: null },
      { name: 'new', spans: 0, lag: null, lastError: 'phoenix answered HTTP 401' },
    ],
    exporters: [
      { ...exporter, name: 'mlflow', lastError: 'mlflow answered HTTP 403' },
      { ...exporter, name: 'phoenix', deadLetters: 3, lastError: null },
      { ...exporter, name: 'webhook', lastError: null },
    ],
  });
  expect(shown).toMatch(/source +old: 7 spans, read to its end 3 s ago$/mu);
  expect(shown).toMatch(/source +new: 0 spans, not read to its end yet; phoenix answered HTTP 401$/mu);
  expect(shown).toMatch(/exporter +mlflow: 1 scores sent, 2 wait; mlflow answered HTTP 403$/mu);
  expect(shown).toMatch(
    /exporter +phoenix: 1 scores sent, 2 wait, 3 were given up \(spanscore dlq list\)$/mu,
  );
  expect(shown).toMatch(/exporter +webhook: 1 scores sent, 2 wait$/mu);
});

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
