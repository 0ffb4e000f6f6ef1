import { describe, expect, it } from 'vitest';
import { countBackfill, runBackfill } from '../../../src/backfill/run-backfill.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { buildPieces, createJoiningScoring } from '../../support/builders/pieces.ts';
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

const HOUR_MS = 3_600_000;

function history(store: MemoryStore, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', startMs: store.clockMs - HOUR_MS + index })]);
    return traceId;
  });
}

function wholeDay(store: MemoryStore) {
  return { fromMs: store.clockMs - 24 * HOUR_MS, toMs: store.clockMs };
}

describe('a backfill', () => {
  it('scores stored traces as a stratum of its own', async () => {
    const store = new MemoryStore();
    history(store, 5);
    store.clockMs += 2 * HOUR_MS;
    const seen: number[] = [];
    const summary = await runBackfill(createTestScoring(store), {
      ...wholeDay(store),
      rules: [buildRule([new CountingScorer('a')])],
      onProgress: (progress) => seen.push(progress.traces),
    });
    expect(summary).toMatchObject({ traces: 5, scored: 5, decisions: { scored: 5 }, incomplete: false });
    expect(seen).toEqual([5]);
    expect(store.scores()).toHaveLength(5);
    expect(store.scores()[0]).toMatchObject({ source: 'backfill', stratum: 'backfill', weight: 1 });
    expect(store.decisions()[0]?.rule).toBe(`backfill:${summary.id}`);
  });

  it('asks no judge for a trace that live scoring has scored', async () => {
    const store = new MemoryStore();
    const scorer = judged('j');
    const rule = buildRule([scorer]);
    const mode = await buildLiveMode(store, rule);
    const [traceId = ''] = history(store, 1);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    const summary = await runBackfill(createTestScoring(store), { ...wholeDay(store), rules: [rule] });
    expect(summary).toMatchObject({
      traces: 1,
      scored: 0,
      already: { scored: 1 },
      decisions: { scored: 1 },
    });
    expect(scorer.inputs).toHaveLength(1);
    expect(store.scores()).toMatchObject([{ source: 'live' }]);
  });

  it('continues a stopped backfill when the same request comes again', async () => {
    const store = new MemoryStore();
    history(store, 1_200);
    store.clockMs += 2 * HOUR_MS;
    const scorer = new CountingScorer('a');
    const stop = new AbortController();
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    const first = await runBackfill(createTestScoring(store), {
      ...request,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(first).toMatchObject({ interrupted: true, traces: 1_000, scored: 1_000 });
    const second = await runBackfill(createTestScoring(store), request);
    expect(second).toMatchObject({
      id: first.id,
      interrupted: false,
      traces: 1_200,
      scored: 200,
      decided: 1_000,
    });
    expect(scorer.inputs).toHaveLength(1_200);
  });

  it('scores and counts a run once whose traces are on two pages', async () => {
    const store = new MemoryStore();
    const { asks, tool, answers } = buildPieces('on two pages', { atMs: 10_000 });
    const firstMs = Number(asks.startUnixNano / 1_000_000n) - 5_000;
    store.ingest([asks]);
    for (let index = 0; index < 499; index++) {
      const { traceId } = buildPieces(`filler ${index}`).asks;
      store.ingest([agentSpan(traceId, 'a', { says: 'x', startMs: firstMs + index })]);
    }
    store.ingest([tool]);
    store.ingest([answers]);
    store.clockMs += 2 * HOUR_MS;
    const scorer = judged('j');

    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const summary = await runBackfill(scoring, { ...wholeDay(store), rules: [buildRule([scorer])] });

    expect(scorer.inputs).toHaveLength(1);
    expect(summary).toMatchObject({ scored: 1, broken: 0 });
    expect(Object.values(summary.decisions).reduce((sum, count) => sum + count, 0)).toBe(
      store.decisions().length,
    );
  });

  it('ends with the error of the store, and leaves no page behind', async () => {
    const store = new MemoryStore();
    history(store, 1_200);
    store.clockMs += 2 * HOUR_MS;
    const { spans } = store.stores;
    let reads = 0;
    const failing = {
      ...store.stores,
      spans: {
        ...spans,
        activity: async (keys: Parameters<typeof spans.activity>[0]) => {
          reads += 1;
          if (reads === 2) {
            throw new StoreUnavailableError('away');
          }
          return spans.activity(keys);
        },
      },
    };

    const running = runBackfill(createTestScoring(store, {}, { stores: failing }), {
      ...wholeDay(store),
      rules: [buildRule([new CountingScorer('a')])],
    });

    await expect(running).rejects.toThrow('away');
    const decided = store.decisions().length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(store.decisions()).toHaveLength(decided);
  });

  it('tries deferred traces again at once, and reports failed ones', async () => {
    const store = new MemoryStore();
    history(store, 2);
    store.clockMs += 2 * HOUR_MS;
    let isDead = true;
    const scorer = judged('j', () => {
      if (isDead) {
        throw new JudgeError('judge_unavailable', 'gone');
      }
      return { score: 1 };
    });
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({
      incomplete: true,
      decisions: { deferred: 2 },
    });
    isDead = false;
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({
      incomplete: false,
      decisions: { scored: 2 },
    });
  });

  it('takes traces of the last minutes that are ready, as its dry run says', async () => {
    const store = new MemoryStore();
    history(store, 21);
    store.clockMs += 60_000;
    const scorer = new CountingScorer('a');
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    const dry = await countBackfill(createTestScoring(store), request);
    expect(dry).toMatchObject({ traces: 21, decided: 0, leftToLive: { arriving: 0, owed: 0 } });
    expect(store.decisions()).toEqual([]);
    const real = await runBackfill(createTestScoring(store), request);
    expect(real).toMatchObject({ ...dry, scored: 21 });
    const again = await runBackfill(createTestScoring(store), request);
    expect(again).toMatchObject({
      traces: 21,
      decided: 21,
      scored: 0,
      already: { scored: 21 },
      decisions: {},
    });
  });

  it('leaves traces that still arrive to live scoring: not quiet yet, or a missing parent', async () => {
    const store = new MemoryStore();
    history(store, 2);
    const traceId = newTraceId();
    store.ingest([
      agentSpan(traceId, 'root', { says: 'x', startMs: store.clockMs }),
      agentSpan(traceId, 'leaf', { says: 'y', parent: 'missing', startMs: store.clockMs }),
    ]);
    store.clockMs += 60_000;
    history(store, 1);
    store.clockMs += 1_000;
    const request = { ...wholeDay(store), rules: [buildRule([new CountingScorer('a')])] };
    const left = { traces: 2, leftToLive: { arriving: 2, owed: 0 } };
    expect(await countBackfill(createTestScoring(store), request)).toMatchObject(left);
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({ ...left, scored: 2 });
    store.clockMs += 15 * 60_000;
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({ traces: 4, scored: 2 });
  });

  it('leaves traces to live scoring that a live rule has yet to decide with one of its scorers', async () => {
    const store = new MemoryStore();
    const [shared, other] = [judged('shared'), new CountingScorer('other')];
    const liveRule = buildRule([shared]);
    await buildLiveMode(store, liveRule);
    history(store, 3);
    store.clockMs += 2 * HOUR_MS;
    const request = { ...wholeDay(store), liveRules: [liveRule] };
    const owed = { ...request, rules: [buildRule([shared, other])] };
    const left = { traces: 0, leftToLive: { arriving: 0, owed: 3 } };
    expect(await countBackfill(createTestScoring(store), owed)).toMatchObject(left);
    expect(await runBackfill(createTestScoring(store), owed)).toMatchObject({ ...left, scored: 0 });
    const free = { ...request, rules: [buildRule([other])] };
    expect(await runBackfill(createTestScoring(store), free)).toMatchObject({ traces: 3, scored: 3 });
    expect(shared.inputs).toEqual([]);
  });

  it('scores traces that live scoring has decided, and leaves those that it has deferred', async () => {
    const store = new MemoryStore();
    let isDead = true;
    const scorer = judged('j', () => {
      if (isDead) {
        throw new JudgeError('judge_unavailable', 'gone');
      }
      return { score: 1 };
    });
    const rule = buildRule([scorer]);
    const mode = await buildLiveMode(store, rule);
    const [putOff = '', decided = ''] = history(store, 2);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: putOff }], mode);
    isDead = false;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: decided }], mode);
    const request = { ...wholeDay(store), rules: [rule], liveRules: [rule] };
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({
      traces: 1,
      scored: 0,
      already: { scored: 1 },
      leftToLive: { owed: 1 },
    });
  });

  it('scores traces that live scoring no longer searches', async () => {
    const store = new MemoryStore();
    const rule = buildRule([new CountingScorer('a')]);
    await buildLiveMode(store, rule);
    history(store, 2);
    store.clockMs += 49 * HOUR_MS;
    const request = { fromMs: 0, toMs: store.clockMs, rules: [rule], liveRules: [rule] };
    expect(await runBackfill(createTestScoring(store), request)).toMatchObject({ traces: 2, scored: 2 });
  });

  it('weighs its scores by its own rate', async () => {
    const store = new MemoryStore();
    history(store, 60);
    store.clockMs += 2 * HOUR_MS;
    const rule = buildRule([new CountingScorer('a')], { sample: { rate: 0.5, always: [] } });
    const summary = await runBackfill(createTestScoring(store), { ...wholeDay(store), rules: [rule] });
    expect(summary.decisions.scored).toBeGreaterThan(5);
    expect(summary.decisions.sampled_out).toBeGreaterThan(5);
    expect(store.scores().every((score) => score.weight === 2 && score.stratum === 'backfill')).toBe(true);
  });

  it('does not change live scores that its own rule does not select', async () => {
    const store = new MemoryStore();
    const rule = buildRule([new CountingScorer('a')]);
    const mode = await buildLiveMode(store, rule);
    const [traceId = ''] = history(store, 1);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    const elsewhere = { ...rule, where: { service: ['shop'] } };
    await runBackfill(createTestScoring(store), { ...wholeDay(store), rules: [elsewhere] });
    expect(store.scores()).toHaveLength(1);
  });

  it('refuses a range that ends before it begins', async () => {
    const store = new MemoryStore();
    const request = { fromMs: 2, toMs: 1, rules: [buildRule([new CountingScorer('a')])] };
    await expect(runBackfill(createTestScoring(store), request)).rejects.toThrow(
      /give a --to after its --from/,
    );
  });
});
