import { expect, it } from 'vitest';
import { scorePage } from '../../../src/jobs/score-page.ts';
import { nameTarget, type JobTargets } from '../../../src/jobs/targets.ts';
import { buildOutcome } from '../../../src/scoring/trace-task.ts';
import { buildDecision } from '../../support/store/store-rows.ts';

const KEY = { tenant: '', traceId: 'a'.repeat(32) };

/** Scores a page of one trace whose scorer waits for a reason. Returns the number of its tries. */
async function countTries(reason: string): Promise<number> {
  let tries = 0;
  const targets: JobTargets = {
    rules: [],
    async score(keys, onOutcome) {
      tries += 1;
      expect(keys).toEqual([KEY]);
      const decisions = [buildDecision({ ...KEY, status: 'deferred', reason })];
      onOutcome(nameTarget(KEY), buildOutcome(KEY, { decisions }));
    },
    readRows: async () => [],
    readScores: async () => [],
  };
  const page = {
    taken: [KEY],
    fresh: new Set([KEY]),
    decided: 0,
    decisions: [],
    arriving: 0,
    owed: 0,
    listed: 1,
    times: { first: 0n, last: 0n },
  };
  await scorePage(targets, page, {
    begunMs: 0,
    isSpent: () => false,
    check: async () => undefined,
    signal: new AbortController().signal,
    retryWaitsMs: [1, 1],
    isOurs: () => true,
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
