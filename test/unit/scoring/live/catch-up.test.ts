import { describe, expect, it } from 'vitest';
import type { BudgetCaps, SharedBudgets } from '../../../../src/domain/money/budget.ts';
import { HASHED_SESSION } from '../../../../src/domain/session-target.ts';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { askForText } from '../../../../src/judge/judge.ts';
import { CatchUp } from '../../../../src/scoring/live/retries.ts';
import { createScorerOwnership } from '../../../../src/scoring/live/scoring-loop.ts';
import { prepareRule, type Rule } from '../../../../src/scoring/select/rule.ts';
import type { CatchUpOrder } from '../../../../src/store/contracts/stores.ts';
import { modelObject } from '../../../support/builders/model-object.ts';
import { createLoopWorld } from '../../../support/scoring/loop-world.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  createTestScoring,
  newTraceId,
} from '../../../support/scoring/scoring-world.ts';
import { buildDecision } from '../../../support/store/store-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A call is estimated at 500 tokens of output, and has as many: 0.01 USD. */
const PRICES = { 'scripted/judge-1': { input: 0, output: 20 } };
const USAGE = { inputTokens: { total: 0 }, outputTokens: { total: 500 } };

/** Pays for 10 calls. */
const TEN_CALLS_USD = 0.105;

interface Terms {
  readonly caps?: BudgetCaps;
  readonly budgets?: SharedBudgets;
  readonly order?: CatchUpOrder;
  readonly maxAgeMs?: number;
}

/** A loop whose judged scorer costs money, with helpers that look at its decisions. */
function createWorld(terms: Terms = {}) {
  const { order = 'oldest-first', maxAgeMs = 3 * DAY_MS, caps = { perDay: TEN_CALLS_USD } } = terms;
  const world = createLoopWorld();
  const { store, timers } = world;
  store.clockMs = Date.UTC(2026, 10, 10, 20);
  const model = modelObject(() => 'fine', { usage: USAGE });
  const buildScorer = () =>
    new CountingScorer(
      'asking',
      async () => {
        await askForText(model, { instructions: 'Judge.', prompt: 'Is it fine?' });
        return { score: 1 };
      },
      'scripted/judge-1',
    );
  const buildJudgedRule = (target: Rule['target'] = 'trace') =>
    buildRule([buildScorer()], { target, budget: caps });
  const options = {
    scoring: { judgeConcurrency: 1, newestShare: 0, budgets: terms.budgets },
    ports: { judgeScope: { judges: createJudgeRegistry({ prices: PRICES }) } },
    catchUp: { order, maxAgeMs },
  };
  const traceIds: string[] = [];
  const scoredOrder = () => store.scoreLog.map(({ traceId }) => traceIds.indexOf(traceId) + 1);
  return {
    ...world,
    model,
    traceIds,
    startLoop: (target?: Rule['target']) => world.start([buildJudgedRule(target)], options),
    startSessions: () =>
      world.startSessions(
        [buildJudgedRule('session')],
        { idleMs: 10_000, maxAgeMs: HOUR_MS, rescores: 24 },
        options,
      ),
    async ingest(count: number) {
      for (let n = 0; n < count; n += 1) {
        const traceId = newTraceId();
        traceIds.push(traceId);
        store.ingest([agentSpan(traceId, 'a', { says: `answer ${traceIds.length}` })]);
        store.clockMs += 7;
      }
      await timers.advance(10_000);
    },
    /** Lets the time jump to 10 minutes after a midnight. */
    async sleepUntilDay(day: number) {
      store.clockMs = Date.UTC(2026, 10, day);
      await timers.advance(600_000);
    },
    statuses: () => Object.groupBy(store.decisions(), ({ status }) => status),
    /** Positions of the scored traces in the order of their arrival, in the order of their scores. */
    scoredOrder,
    /** The same ten by ten, each ten sorted: a day pays for ten. */
    scoredTenths: () =>
      Array.from({ length: store.scoreLog.length / 10 }, (_, n) =>
        scoredOrder()
          .slice(10 * n, 10 * n + 10)
          .toSorted((one, other) => one - other),
      ),
  };
}

function range(from: number, to: number): number[] {
  const step = from <= to ? 1 : -1;
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, n) => from + n * step);
}

describe('sessions that the budget of a day holds back', () => {
  it.each([
    ['newest-first' as const, range(13, 22)],
    ['oldest-first' as const, range(11, 20)],
  ])('are scored on the next day, %s, and those that are too old become failed', async (order, expected) => {
    const { store, timers, ...world } = createWorld({ order });
    const loop = await world.startLoop('session');
    const sessions = world.startSessions();
    for (let n = 1; n <= 22; n += 1) {
      const attributes = { session: `session ${n}` };
      store.ingest([agentSpan(newTraceId(), 'a', { says: `answer ${n}`, attributes })]);
      await timers.advance(4_000);
    }
    await timers.advance(20_000);
    for (const day of [11, 14]) {
      store.clockMs = Date.UTC(2026, 10, day);
      await timers.advance(200_000);
    }
    await loop.stop();
    await sessions.stop();
    const scored = store.scoreLog.map(({ sessionId }) => Number(sessionId?.split(' ')[1]));
    expect(scored.slice(0, 10).toSorted((a, b) => a - b)).toEqual(range(1, 10));
    expect(scored.slice(10).toSorted((a, b) => a - b)).toEqual(expected);
    const reason = expect.stringMatching(/^budget_exhausted: no money within 3 days/) as string;
    expect(world.statuses().failed).toMatchObject([
      { target: 'session', reason },
      { target: 'session', reason },
    ]);
  });

  it('do not wait for one that is not found any more', async () => {
    const { store, timers, ...world } = createWorld();
    const loop = await world.startLoop('session');
    const sessions = world.startSessions();
    for (let n = 1; n <= 12; n += 1) {
      const attributes = { session: `session ${n}` };
      store.ingest([agentSpan(newTraceId(), 'a', { says: `answer ${n}`, attributes })]);
      await timers.advance(4_000);
    }
    await timers.advance(20_000);
    const held = store.decisions().find(({ status }) => status === 'deferred');
    const evidenceUntil = held!.evidenceUntil - 1;
    await store.stores.decisions.write([{ ...held!, targetId: `${HASHED_SESSION}00`, evidenceUntil }]);
    store.clockMs = Date.UTC(2026, 10, 11);
    await timers.advance(200_000);
    expect(store.scoreLog).toHaveLength(12);
    await loop.stop();
    await sessions.stop();
  });
});

describe('traces that the budget of a day holds back', () => {
  it.each([
    ['newest-first' as const, [range(21, 30), range(11, 20)]],
    ['oldest-first' as const, [range(11, 20), range(21, 30)]],
  ])('are scored on the next days, %s', async (order, expected) => {
    const world = createWorld({ order });
    const loop = await world.startLoop();
    await world.ingest(30);
    expect(world.scoredTenths()).toEqual([range(1, 10)]);
    const held = world.statuses().deferred ?? [];
    expect(held).toHaveLength(20);
    expect(new Set(held.map(({ nextAttemptAt }) => nextAttemptAt))).toEqual(
      new Set([Date.UTC(2026, 10, 11)]),
    );
    expect(held[0]?.reason).toMatch(/^budget_exhausted: .*rule r's budget of 0\.105 USD a UTC day/);

    await world.sleepUntilDay(11);
    expect(world.scoredTenths().slice(1)).toEqual(expected.slice(0, 1));
    const left = world.statuses().deferred ?? [];
    expect(new Set(left.map(({ nextAttemptAt }) => nextAttemptAt))).toEqual(
      new Set([Date.UTC(2026, 10, 12)]),
    );
    await world.sleepUntilDay(12);
    expect(world.scoredTenths().slice(1)).toEqual(expected);
    await loop.stop();
  });

  it('keep their order when the process restarts between', async () => {
    const world = createWorld();
    const first = await world.startLoop();
    await world.ingest(30);
    await first.stop();
    world.store.clockMs = Date.UTC(2026, 10, 11, 8);
    const second = await world.startLoop();
    await world.timers.advance(300_000);
    expect(world.scoredTenths()).toEqual([range(1, 10), range(11, 20)]);
    await second.stop();
    const third = await world.startLoop();
    await world.timers.advance(300_000);
    expect(world.model.calls).toHaveLength(20);
    await world.sleepUntilDay(12);
    expect(world.scoredTenths()).toEqual([range(1, 10), range(11, 20), range(21, 30)]);
    await third.stop();
  });

  it('become failed when the money of the days does not reach them within the catch-up', async () => {
    const world = createWorld({ maxAgeMs: DAY_MS + 6 * HOUR_MS });
    const loop = await world.startLoop();
    await world.ingest(30);
    await world.sleepUntilDay(11);
    await world.sleepUntilDay(13);
    expect(world.statuses().scored).toHaveLength(20);
    expect(world.statuses().failed).toHaveLength(10);
    expect(world.statuses().failed?.[0]?.reason).toMatch(
      /^budget_exhausted: no money within 1\.3 days \(scoring\.catchUp\); at last: .*rule r's budget of 0\.105 USD a UTC day/u,
    );
    expect(world.model.calls).toHaveLength(20);
    await loop.stop();
  });

  it('are failed by a process that starts after four days', async () => {
    const world = createWorld();
    const first = await world.startLoop();
    await world.ingest(15);
    await first.stop();
    world.store.clockMs += 4 * DAY_MS;
    const second = await world.startLoop();
    await world.timers.advance(120_000);
    expect(world.statuses().failed).toHaveLength(5);
    expect(world.model.calls).toHaveLength(10);
    await second.stop();
  });

  it('cost few statements while they wait', async () => {
    const world = createWorld();
    const loop = await world.startLoop();
    await world.ingest(30);
    const before = { reads: world.store.heldBackReads, rows: world.store.decisionLog.length };
    await world.timers.advance(HOUR_MS);
    // One read a minute, and one of old decisions in five.
    expect(world.store.heldBackReads - before.reads).toBeLessThanOrEqual(150);
    expect(world.store.decisionLog).toHaveLength(before.rows);
    await loop.stop();
  });
});

describe('traces that the budget of a month holds back', () => {
  it('wait for the next month, whatever the budget of the day', async () => {
    const world = createWorld({ caps: { perDay: 9 }, budgets: { total: { perMonth: TEN_CALLS_USD } } });
    const loop = await world.startLoop();
    await world.ingest(12);
    await world.sleepUntilDay(11);
    const held = world.statuses().deferred ?? [];
    expect(held.map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([
      Date.UTC(2026, 11, 1),
      Date.UTC(2026, 11, 1),
    ]);
    expect(held[0]?.reason).toContain('the total budget of 0.105 USD a UTC month');
    await loop.stop();
  });
});

it('A catch-up takes the next trace when one has been under way for longer than any scorer runs', async () => {
  const { store } = createLoopWorld();
  const rules = [prepareRule(buildRule([new CountingScorer('a')]))];
  const ownership = createScorerOwnership(undefined, rules, { member: '', monotonicMs: () => store.clockMs });
  const held = { rule: 'r', scorer: 'a', status: 'deferred', reason: 'budget_exhausted: later' } as const;
  const rows = [1, 2].map((n) =>
    buildDecision({ ...held, nextAttemptAt: store.clockMs, evidenceUntil: store.clockMs + n }),
  );
  await store.stores.decisions.write(rows);
  const catchUp = new CatchUp(createTestScoring(store), { rules, ownership });
  const take = async () => {
    await catchUp.tick({ nowMs: () => store.clockMs });
    return catchUp.take(store.clockMs).length;
  };
  const taken = [await take(), await take()];
  store.clockMs += 16 * 60_000;
  expect([...taken, await take()]).toEqual([1, 0, 1]);
});
