import { expect, it } from 'vitest';
import { scorePage } from '../../../src/backfill/score-page.ts';
import type { BackfillTargets } from '../../../src/backfill/targets.ts';
import { buildOutcome } from '../../../src/scoring/trace-task.ts';
import { buildDecision } from '../../support/store/store-rows.ts';

const TRACE_ID = 'a'.repeat(32);

/** Scores a page of one trace whose scorer waits for a reason. Returns the number of its tries. */
async function countTries(reason: string): Promise<number> {
  let tries = 0;
  const targets: BackfillTargets<string> = {
    rules: [],
    name: (key) => key,
    nameOfRow: ({ traceId }) => traceId,
    async score(keys, onOutcome) {
      tries += 1;
      for (const key of keys) {
        const decisions = [buildDecision({ traceId: key, status: 'deferred', reason })];
        onOutcome(key, buildOutcome({ tenant: '', traceId: key }, { decisions }));
      }
    },
    readRows: async () => [],
    readScores: async () => [],
    isOurs: () => true,
  };
  const page = {
    taken: [TRACE_ID],
    fresh: new Set([TRACE_ID]),
    decided: 0,
    decisions: [],
    leftToLive: { arriving: 0, owed: 0 },
  };
  await scorePage(targets, page, {
    begunMs: 0,
    isSpent: () => false,
    check: async () => undefined,
    signal: new AbortController().signal,
    retryWaitsMs: [1, 1],
    onPairs: () => undefined,
  });
  return tries;
}

it.each([
  'judge_unavailable: away',
  'scorer_unavailable: its process has ended',
  'budget_exhausted: the budget of the day is spent',
])('a scorer that waits (%s) is tried three times', async (reason) => {
  expect(await countTries(reason)).toBe(3);
});
