import { describe, expect, it } from 'vitest';
import { previewRule } from '../../../src/jobs/preview.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import type { JudgeCall } from '../../../src/judge/judge-execution.ts';
import { currentJudgeScope } from '../../../src/judge/judge-scope.ts';
import type { ScoringMode } from '../../../src/scoring/scoring-mode.ts';
import type { TraceReader } from '../../../src/scoring/scoring.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { createCascade, drawForRun } from '../../../src/scorers/evals/cascade.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { scoreSession } from '../../../src/scoring/sessions/score-session.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  createTestScoring,
  judged,
  newTraceId,
  readTestTrace,
} from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;
const SESSIONS = { idleMs: HOUR_MS, maxAgeMs: 24 * HOUR_MS, rescores: 24 };

/** Reserves, and calls, a judge as the judge client does. */
const ask = async (model = 'test/judge') => {
  const { reserve, onPlan, onCall } = currentJudgeScope();
  const plan = { model, step: 'analyze', promptBytes: 300, estimatedUsd: 0.1 };
  const planned = { ...plan, tokens: { inputTokens: 100, outputTokens: 500 } };
  onPlan?.(planned);
  const reservation = await reserve?.(planned);
  reservation?.settle(0.04);
  onCall?.({ step: 'analyze', model, status: 'success', cost: 0.04 } as JudgeCall);
  return { score: 0.5, reason: 'so so' };
};

const paid = judged('paid', () => ask());

/** Scorer whose first judge gives a run a score by its text. */
const cascade = createCascade(
  'policy',
  [
    {
      id: 'policy',
      range: [0, 1],
      judgeModel: 'test/first',
      run: async ({ runId = '' }) => ({ ...(await ask('test/first')), score: drawForRun('first', runId) }),
    },
    { id: 'policy', range: [0, 1], judgeModel: 'test/judge', run: () => ask() },
  ],
  { share: 0.2, floor: 0.05 },
);

const look = (store: MemoryStore, rule: Rule, sample: number, readTrace: TraceReader = readTestTrace) => {
  const { signal } = new AbortController();
  return previewRule(
    {
      scoring: createTestScoring(store, {}, { readTrace }),
      sessions: SESSIONS,
      readSizes: async () => [],
      prices: { 'test/judge': { input: 1, output: 1 }, 'test/first': { input: 0.1, output: 0 } },
      findProvider: () => ({ concurrency: 4 }),
    },
    {
      rule: prepareRule(rule),
      fromMs: store.clockMs - 24 * HOUR_MS,
      toMs: store.clockMs,
      tenant: '',
      sample,
      listing: signal,
      judging: signal,
    },
  );
};

function fill(store: MemoryStore, count: number, service = 'weather'): string[] {
  return Array.from({ length: count }, (_, n) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', service, startMs: store.clockMs - HOUR_MS + n })]);
    return traceId;
  });
}

/** Stores a turn of each session and reads it, as with a rule on sessions in force. */
async function say(
  store: MemoryStore,
  mode: ScoringMode,
  sessions: readonly string[],
  { service = 'weather' }: { readonly service?: string } = {},
): Promise<void> {
  const keys = sessions.map((session) => ({ tenant: '', traceId: newTraceId(), session }));
  store.ingest(
    keys.map(({ traceId, session }) => {
      const attributes = { session, 'gen_ai.conversation.id': session };
      return agentSpan(traceId, 'a', { says: 'x', service, attributes, startMs: store.clockMs - 1_000 });
    }),
  );
  store.clockMs += 60_000;
  await scoreTraces(createTestScoring(store), keys, mode);
}

const written = (store: MemoryStore) =>
  [store.decisionLog, store.scoreLog, store.runLog, store.judgeCallRows].map((rows) => rows.length);

describe('a preview', () => {
  it('says what matches, what is left out and what it would cost, and judges a sample for money', async () => {
    const store = new MemoryStore();
    fill(store, 30);
    fill(store, 10, 'bank');
    store.clockMs += 2 * HOUR_MS;
    fill(store, 2);
    const rule = buildRule([paid], { where: { not: { service: ['bank'] } }, budget: { perDay: 10 } });
    const preview = await look(store, rule, 5);
    expect(preview).toMatchObject({
      matched: 42,
      selected: 30,
      left: { where: 10, arriving: 2 },
      isComplete: true,
      weeks: 1 / 7,
      estimate: { judgeCalls: 30, prompts: 30, basis: 'declared_lengths' },
    });
    expect(preview.traces).toHaveLength(5);
    for (const { scores, decisions, stored, reading } of preview.traces) {
      expect(scores).toMatchObject([{ scorer: 'paid', score: 0.5, source: 'live', stratum: 'uniform' }]);
      expect(decisions).toMatchObject([{ rule: 'r', status: 'scored' }]);
      expect(stored).toEqual([]);
      expect(reading?.runs).toHaveLength(1);
    }
    expect(written(store)).toEqual([0, 0, 0, 0]);
    const spentUsd = store.spendRows
      .filter(({ kind, rule: paidBy }) => kind === 'call' && paidBy === 'r')
      .reduce((sum, { costUsd }) => sum + costUsd, 0);
    expect(spentUsd).toBeCloseTo(5 * 0.04);
  });

  it('does not count the decisions and scores of the rule in force, and shows these scores beside its own', async () => {
    const store = new MemoryStore();
    const rule = buildRule([paid]);
    const mode = await buildLiveMode(store, rule);
    const ids = fill(store, 3);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(
      createTestScoring(store),
      ids.map((traceId) => ({ tenant: '', traceId })),
      mode,
    );
    const before = written(store);
    const preview = await look(store, rule, 3);
    expect(preview).toMatchObject({ selected: 3, left: {} });
    for (const { scores, stored } of preview.traces) {
      expect(stored).toMatchObject([{ scorer: 'paid', source: 'live', fingerprint: scores[0]?.fingerprint }]);
    }
    expect(written(store)).toEqual(before);
  });

  it.each([0, 20])(
    'forecasts cost and width of a cascade for three shares from %i judged runs',
    async (sample) => {
      const store = new MemoryStore();
      fill(store, 30);
      store.clockMs += 2 * HOUR_MS;
      const { cascade: forecast, estimate } = await look(store, buildRule([cascade]), sample);
      expect(forecast.map(({ scorer, share }) => [scorer, share])).toEqual([
        ['policy', 0.1],
        ['policy', 0.2],
        ['policy', 0.4],
      ]);
      // A run has 100 tokens of input and 500 of output: 0.00001 USD of the first judge, 0.0006 of the second.
      const costs = forecast.map(({ costUsd }) => costUsd ?? 0);
      [0.1, 0.2, 0.4].forEach((share, index) =>
        expect(costs[index]).toBeCloseTo(30 * (0.00001 + share * 0.0006), 8),
      );
      expect(estimate.costUsd).toBeCloseTo(costs[1] ?? 0, 8);
      const [wide = 0, own = 0, narrow = 0] = forecast.map(({ width95 }) => width95 ?? 0);
      expect(wide).toBeGreaterThan(own);
      expect(own).toBeGreaterThan(narrow);
      expect(narrow).toBeGreaterThan(0.05);
    },
  );

  it('asks no judge for a sample of none', async () => {
    const store = new MemoryStore();
    fill(store, 3);
    store.clockMs += 2 * HOUR_MS;
    const preview = await look(store, buildRule([paid], { budget: { perDay: 10 } }), 0);
    expect(preview).toMatchObject({ selected: 3, traces: [] });
    expect(store.spendRows).toEqual([]);
  });
});

describe('a preview of a rule on sessions', () => {
  const chats = (parts: Partial<Rule> = {}) =>
    buildRule([paid], { name: 'chats', target: 'session', budget: { perDay: 10 }, ...parts });
  const name = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}-${n}`);

  it('says what matches, what is left out and what it would cost, and judges a sample for money', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, chats());
    await say(store, mode, [...name('shop', 12), ...name('bank', 3)]);
    await say(store, mode, name('bank', 3), { service: 'bank' });
    store.clockMs += 2 * HOUR_MS;
    await say(store, mode, name('new', 2));
    const before = written(store);
    const preview = await look(store, chats({ where: { not: { service: ['bank'] } } }), 5);
    expect(preview).toMatchObject({
      matched: 17,
      selected: 12,
      left: { where: 3, arriving: 2 },
      isComplete: true,
      estimate: { judgeCalls: 12, prompts: 12, basis: 'declared_lengths' },
    });
    expect(preview.traces).toHaveLength(5);
    for (const { key, sessionId, reading, scores, decisions, stored, error } of preview.traces) {
      expect([key.traceId, error]).toEqual(['', null]);
      expect(sessionId).toMatch(/^shop-/u);
      expect(scores).toMatchObject([
        { scorer: 'paid', target: 'session', targetId: sessionId, source: 'live' },
      ]);
      expect(decisions).toMatchObject([{ rule: 'chats', status: 'scored', targetId: sessionId }]);
      expect(stored).toEqual([]);
      expect(reading?.runs).toMatchObject([{ sessionId, target: { kind: 'session' } }]);
    }
    expect(written(store)).toEqual(before);
    const spentUsd = store.spendRows
      .filter(({ kind, rule: paidBy }) => kind === 'call' && paidBy === 'chats')
      .reduce((sum, { costUsd }) => sum + costUsd, 0);
    expect(spentUsd).toBeCloseTo(5 * 0.04);
  });

  it('does not count the decisions and scores of the rule in force, and shows these scores beside its own', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, chats());
    const sessions = name('shop', 3);
    await say(store, mode, sessions);
    store.clockMs += 2 * HOUR_MS;
    for (const sessionId of sessions) {
      await scoreSession(createTestScoring(store), { tenant: '', sessionId }, mode, SESSIONS);
    }
    const preview = await look(store, chats(), 3);
    expect(preview).toMatchObject({ selected: 3, left: {} });
    expect(preview.traces.map(({ sessionId }) => sessionId).toSorted()).toEqual(sessions);
    for (const { sessionId, scores, stored } of preview.traces) {
      expect(stored).toMatchObject([
        { targetId: sessionId, source: 'live', fingerprint: scores[0]?.fingerprint },
      ]);
    }
  });

  it('shows what was not understood in each of the turns', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, chats());
    await say(store, mode, ['s']);
    await say(store, mode, ['s']);
    store.clockMs += 2 * HOUR_MS;
    const odd = (data: TraceData): TraceReading => ({
      ...readTestTrace(data),
      notUnderstood: [
        {
          spanId: '',
          name: `odd of ${data.traceId}`,
          service: '',
          scope: '',
          reason: 'no convention',
          attributes: [],
        },
      ],
    });
    const { traces } = await look(store, chats(), 1, odd);
    const ids = store
      .runs()
      .flatMap(({ target, traceId }) => (target === 'trace' ? [`odd of ${traceId}`] : []));
    const [{ reading } = { reading: null }] = traces;
    expect(reading?.notUnderstood.map((each) => each.name).toSorted()).toEqual(ids.toSorted());
    expect(reading).toMatchObject({ spanCount: 2 });
  });
});
