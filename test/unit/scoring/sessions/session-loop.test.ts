import { expect, it } from 'vitest';
import { createScorerOwnership } from '../../../../src/scoring/live/scoring-loop.ts';
import type { Timers } from '../../../../src/scoring/live/timers.ts';
import { SessionLoop } from '../../../../src/scoring/sessions/session-loop.ts';
import { buildDecision } from '../../../support/store/store-rows.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import { buildRule, CountingScorer, createTestScoring } from '../../../support/scoring/scoring-world.ts';
import { until } from '../../../support/until.ts';

/** Sleeps until the end of the test. */
const timers: Timers = {
  sleep: (_ms, signal) => new Promise((done) => signal.addEventListener('abort', () => done())),
};

it('ends the deferred decisions on sessions whose rule no process has any more, also without a rule on sessions', async () => {
  const store = new MemoryStore();
  const rules = [buildRule([new CountingScorer('a')])];
  const row = { traceId: '', target: 'session', targetId: 's', rule: 'removed', scorer: 'a' } as const;
  await store.stores.decisions.write([
    buildDecision({ ...row, status: 'deferred', nextAttemptAt: store.clockMs, evidenceUntil: store.clockMs }),
    buildDecision({ ...row, targetId: 'later', status: 'deferred', nextAttemptAt: store.clockMs + 1 }),
  ]);
  const ownership = createScorerOwnership(undefined, rules, { member: '', monotonicMs: () => store.clockMs });
  const settings = { idleMs: 60_000, maxAgeMs: 60_000, rescores: 24 };
  const loop = new SessionLoop(createTestScoring(store), { rules, ownership, settings, timers });
  await until(() => store.decisions().some((each) => each.status === 'filtered'), 5_000);
  await loop.stop();
  expect(store.decisions()).toMatchObject([
    { targetId: 's', status: 'filtered', reason: expect.stringMatching(/^rule_removed/) as string },
    { targetId: 'later', status: 'deferred' },
  ]);
});
