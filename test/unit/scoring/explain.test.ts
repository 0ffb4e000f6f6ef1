import { describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../../src/domain/durations.ts';
import { explainTrace } from '../../../src/scoring/explain.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { createJoiningScoring, buildPieces } from '../../support/builders/pieces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  CountingScorer,
  judged,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../support/scoring/scoring-world.ts';

const rule = buildRule([new CountingScorer('a')]);

describe('explaining a trace', () => {
  it('shows its decisions', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, rule);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    store.clockMs += 60_000;
    await scoreTraces(createTestScoring(store), [key], mode);
    const explained = await explainTrace(createTestScoring(store), key, [rule]);
    expect(explained.decisions).toMatchObject([{ scorer: 'a', status: 'scored' }]);
    expect(explained.computed).toEqual([]);
    expect(explained.scores).toMatchObject([{ scorer: 'a', score: 1 }]);
  });

  it('leaves out a rule on sessions, which decides on the session and not on its traces', async () => {
    const store = new MemoryStore();
    const onSessions = buildRule([new CountingScorer('a')], { name: 's', target: 'session' });
    await buildLiveMode(store, rule, onSessions);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x', attributes: { session: 'chat-1' } })]);
    const { computed } = await explainTrace(createTestScoring(store), key, [rule, onSessions]);
    expect(computed).toMatchObject([{ rule: 'r', status: 'waiting' }]);
  });

  it('names the scorers that wait for a place while others have decided', async () => {
    const store = new MemoryStore();
    const mixed = buildRule([new CountingScorer('a'), judged('j')]);
    const mode = await buildLiveMode(store, mixed);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    store.clockMs += 60_000;
    const scoring = createTestScoring(store);
    const admission = { admit: () => null, isFull: () => true };
    const [outcome] = await scoreTraces(scoring, [key], { ...mode, admission });
    expect(outcome?.waiting).toMatchObject([{ runs: 1 }]);
    const explained = await explainTrace(scoring, key, [mixed]);
    expect(explained.decisions).toMatchObject([{ scorer: 'a', status: 'scored' }]);
    expect(explained.computed).toMatchObject([{ status: 'waiting', dueAtMs: null }]);
    expect(explained.computed[0]?.reason).toMatch(/^j: /u);
  });

  it('names the run of a waiting piece, and the missing parent of a waiting trace', async () => {
    const store = new MemoryStore();
    await buildLiveMode(store, rule);
    const { asks, tool } = buildPieces('Does it rain?');
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    store.ingest([asks]);
    store.clockMs += 1_000;
    store.ingest([tool]);
    store.clockMs += 10_000;
    const piece = await explainTrace(scoring, { tenant: '', traceId: tool.traceId }, [rule]);
    expect(piece.computed).toMatchObject([
      {
        status: 'waiting',
        reason: `it is a piece of the run that is scored as trace ${asks.traceId}, with ${asks.traceId}; further pieces may still come`,
        dueAtMs: store.clockMs + 20_000,
      },
    ]);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([
      agentSpan(key.traceId, 'a', { says: 'x' }),
      agentSpan(key.traceId, 'b', { says: 'y', parent: 'missing' }),
    ]);
    store.clockMs += 60_000;
    const orphan = await explainTrace(scoring, key, [rule]);
    expect(orphan.computed).toMatchObject([
      {
        status: 'waiting',
        reason: 'span missing000000000, the parent of another, has not come; it is waited for',
        dueAtMs: store.clockMs + 14 * 60_000,
      },
    ]);
  });

  it('says until when a trace waits, before its first decision and after late spans', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, rule);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    const first = await explainTrace(createTestScoring(store), key, [rule]);
    expect(first.computed).toMatchObject([{ rule: 'r', status: 'waiting', dueAtMs: store.clockMs + 5_000 }]);
    store.clockMs += 60_000;
    await scoreTraces(createTestScoring(store), [key], mode);
    store.ingest([agentSpan(key.traceId, 'b', { parent: 'a', says: 'y' })]);
    const late = await explainTrace(createTestScoring(store), key, [rule]);
    expect(late.decisions).toHaveLength(1);
    expect(late.computed).toMatchObject([{ status: 'waiting', dueAtMs: store.clockMs + 10_000 }]);
  });

  it('does not say that a trace is queued while its judged scorers may run', async () => {
    const store = new MemoryStore();
    const slow = Promise.withResolvers<{ score: number }>();
    const both = buildRule([new CountingScorer('a'), judged('j', () => slow.promise)]);
    const mode = await buildLiveMode(store, both);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    store.clockMs += 60_000;
    const work = scoreTraces(createTestScoring(store), [key], mode);
    await expect.poll(() => store.scores().map((score) => score.scorer)).toEqual(['a']);
    const { computed } = await explainTrace(createTestScoring(store), key, [both]);
    expect(computed).toMatchObject([
      {
        status: 'waiting',
        dueAtMs: null,
        reason: expect.stringMatching(/scorers are at work .* or .* next/),
      },
    ]);
    slow.resolve({ score: 1 });
    await work;
  });

  it('says that a trace arrived before its rule', async () => {
    const store = new MemoryStore();
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    store.clockMs += 60_000;
    await buildLiveMode(store, rule);
    const { computed } = await explainTrace(createTestScoring(store), key, [rule]);
    expect(computed).toMatchObject([{ rule: 'r', status: 'not_covered' }]);
  });

  it('says that live scoring looks back no further, and that a backfill can score the trace', async () => {
    const store = new MemoryStore();
    await buildLiveMode(store, rule);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a', { says: 'x' })]);
    store.clockMs += 95 * HOUR_MS;
    const found = await explainTrace(createTestScoring(store), key, [rule]);
    expect(found.computed).toMatchObject([{ rule: 'r', status: 'waiting' }]);
    store.clockMs += 2 * HOUR_MS;
    const missed = await explainTrace(createTestScoring(store), key, [rule]);
    expect(missed.computed).toMatchObject([{ rule: 'r', status: 'not_covered', dueAtMs: null }]);
    expect(missed.computed[0]?.reason).toMatch(/more than 4 d ago.*a backfill can score it/u);
  });

  it('says that a trace has no agent', async () => {
    const store = new MemoryStore();
    await buildLiveMode(store, rule);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([{ ...agentSpan(key.traceId, 'a'), attributes: new Map() }]);
    const { computed } = await explainTrace(createTestScoring(store), key, [rule]);
    expect(computed).toMatchObject([{ rule: '*', status: 'no_agent' }]);
  });

  it('returns nothing for a trace that is not stored', async () => {
    const store = new MemoryStore();
    const key = { tenant: '', traceId: newTraceId() };
    const explained = await explainTrace(createTestScoring(store), key, [rule]);
    expect(explained).toMatchObject({ activity: null, decisions: [], computed: [] });
  });
});
