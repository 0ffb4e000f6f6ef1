import { describe, expect, it } from 'vitest';
import { previewRule } from '../../../src/preview/preview-rule.ts';
import type { JudgeCall } from '../../../src/judge/judge-execution.ts';
import { currentJudgeScope } from '../../../src/judge/judge-scope.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  createTestScoring,
  judged,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;

/** Scorer that reserves, and calls, its judge as the judge client does. */
const paid = judged('paid', async () => {
  const { reserve, onPlan, onCall } = currentJudgeScope();
  const plan = { model: 'test/judge', step: 'analyze', promptBytes: 300, estimatedUsd: 0.1 };
  const planned = { ...plan, tokens: { inputTokens: 100, outputTokens: 500 } };
  onPlan?.(planned);
  const reservation = await reserve?.(planned);
  reservation?.settle(0.04);
  onCall?.({ step: 'analyze', model: 'test/judge', status: 'success', cost: 0.04 } as JudgeCall);
  return { score: 0.5, reason: 'so so' };
});

const look = (store: MemoryStore, rule: Rule, sample: number) => {
  const { signal } = new AbortController();
  return previewRule(
    {
      scoring: createTestScoring(store),
      readSizes: async () => [],
      prices: { 'test/judge': { input: 1, output: 1 } },
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

  it('asks no judge for a sample of none', async () => {
    const store = new MemoryStore();
    fill(store, 3);
    store.clockMs += 2 * HOUR_MS;
    const preview = await look(store, buildRule([paid], { budget: { perDay: 10 } }), 0);
    expect(preview).toMatchObject({ selected: 3, traces: [] });
    expect(store.spendRows).toEqual([]);
  });
});
