import { describe, expect, it } from 'vitest';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import type { ScoringMode } from '../../../../src/scoring/scoring-mode.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { drawUniform } from '../../../../src/scoring/select/sample-trace.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  CountingScorer,
  createTestScoring,
  newTraceId,
} from '../../../support/scoring/scoring-world.ts';

const QUIET_MS = 60_000;

/** Plan that scores nothing but the first two traces of each new version. */
const FIRST_TWO: Partial<Rule> = { sample: { rate: 0, always: [{ newVersion: 2 }] } };

type SpanOptions = NonNullable<Parameters<typeof agentSpan>[2]>;

function buildTrace(version: string, options: SpanOptions = {}, traceId = newTraceId()) {
  const { attributes, ...others } = options;
  return agentSpan(traceId, 'a', {
    says: 'x',
    ...others,
    attributes: { 'service.version': version, ...attributes },
  });
}

/** A store with traces, and processes that score them by one rule. */
async function world(parts: Partial<Rule> = FIRST_TWO) {
  const store = new MemoryStore();
  const build = (rule: Partial<Rule>) => buildLiveMode(store, buildRule([new CountingScorer('a')], rule));
  let mode: ScoringMode = await build(parts);
  let scoring = createTestScoring(store);
  return {
    store,
    /** Starts another process with an empty memory; with parts, under a new version of the rule. */
    restart: async (rule?: Partial<Rule>) => {
      mode = rule === undefined ? mode : await build(rule);
      scoring = createTestScoring(store);
    },
    startProcess: () => createTestScoring(store),
    ingest: (...spans: ReturnType<typeof buildTrace>[]) => {
      store.ingest(spans);
      store.clockMs += QUIET_MS;
      return spans.map(({ traceId }) => ({ tenant: '', traceId }));
    },
    score: (keys: { tenant: string; traceId: string }[], by = scoring) => scoreTraces(by, keys, mode),
    countFirst: () => store.scores().filter(({ stratum }) => stratum === 'priority').length,
    listScored: () => store.scores().map(({ traceId }) => traceId),
  };
}

describe('the first traces of a new version', () => {
  it('are scored beyond the draw, with the weight 1', async () => {
    const { store, ingest, score } = await world();
    await score(ingest(buildTrace('2.0'), buildTrace('2.0'), buildTrace('2.0')));
    expect(store.scores()).toMatchObject([
      { stratum: 'priority', inclusionProbability: 1, weight: 1 },
      { stratum: 'priority', inclusionProbability: 1, weight: 1 },
    ]);
    expect(store.decisions().filter(({ status }) => status === 'sampled_out')).toHaveLength(1);
  });

  it('are counted for each version by itself', async () => {
    const { ingest, score, countFirst } = await world();
    for (const version of ['1', '1', '1', '2', '2', '2']) {
      await score(ingest(buildTrace(version)));
    }
    expect(countFirst()).toBe(4);
  });

  it('have the weight 1 in the draw, too: they are always scored', async () => {
    const { store, ingest, score } = await world({ sample: { rate: 0.5, always: [{ newVersion: 1 }] } });
    let traceId = newTraceId();
    while (drawUniform(traceId) >= 0.5) {
      traceId = newTraceId();
    }
    await score(ingest(buildTrace('2', {}, traceId)));
    expect(store.scores()).toMatchObject([{ stratum: 'uniform', inclusionProbability: 1, weight: 1 }]);
  });

  it('contain a trace that another reason selects', async () => {
    const { ingest, score, listScored } = await world({
      sample: { rate: 0, always: ['error', { newVersion: 1 }] },
    });
    const [failed, next] = [buildTrace('2', { error: true }), buildTrace('2')];
    await score(ingest(failed));
    await score(ingest(next));
    expect(listScored()).toEqual([failed.traceId]);
  });

  it('contain only traces that meet the conditions on the content', async () => {
    const { ingest, score, listScored } = await world({ ...FIRST_TWO, where: { tokens: { min: 10 } } });
    const large = [1, 2].map(() => buildTrace('2', { attributes: { tokens: '10' } }));
    for (const span of [buildTrace('2', { attributes: { tokens: '9' } }), ...large]) {
      await score(ingest(span));
    }
    expect(listScored()).toEqual(large.map(({ traceId }) => traceId));
  });

  it('are complete: a later trace costs no read of it, and no read of the choice', async () => {
    const { store, ingest, score } = await world();
    await score(ingest(buildTrace('2'), buildTrace('2'), buildTrace('2')));
    const before = [store.reads.length, store.versionReads];
    await score(ingest(buildTrace('2')));
    expect([store.reads.length, store.versionReads]).toEqual(before);
  });

  it('stay chosen when later spans come', async () => {
    const { store, ingest, score } = await world();
    const first = buildTrace('2');
    await score(ingest(first));
    await score(ingest(buildTrace('2'), buildTrace('2')));
    await score(ingest(agentSpan(first.traceId, 'b', { parent: 'a', says: 'more' })));
    expect(store.scores().find(({ traceId }) => traceId === first.traceId)).toMatchObject({
      stratum: 'priority',
      revision: 2,
    });
  });

  it('are the same after a restart', async () => {
    const { ingest, score, restart, countFirst } = await world();
    await score(ingest(buildTrace('2')));
    await restart();
    await score(ingest(buildTrace('2'), buildTrace('2')));
    await restart();
    await score(ingest(buildTrace('2')));
    expect(countFirst()).toBe(2);
  });

  it('are one choice for several processes at the same time', async () => {
    const { ingest, score, startProcess, countFirst } = await world({
      sample: { rate: 0, always: [{ newVersion: 7 }] },
    });
    const keys = ingest(...Array.from({ length: 30 }, () => buildTrace('2')));
    await Promise.all([0, 10, 20].map((from) => score(keys.slice(from, from + 10), startProcess())));
    expect(countFirst()).toBe(7);
  });

  it('are scored after a crash between the choice and the decision', async () => {
    const { store, ingest, score, restart, countFirst } = await world();
    const keys = ingest(buildTrace('2'), buildTrace('2'));
    store.failing = (what) => what === 'scores';
    await score(keys);
    store.failing = () => false;
    await restart();
    await score(ingest(buildTrace('2')));
    await score(keys);
    expect(countFirst()).toBe(2);
  });

  it('wait while the choice cannot be stored', async () => {
    const { store, ingest, score } = await world();
    store.failing = (what) => what === 'versions';
    const [outcome] = await score(ingest(buildTrace('2')));
    expect(outcome?.error?.retryable).toBe(true);
    expect(store.decisions()).toEqual([]);
  });

  it('are none for a version that was in use before the rule asked for them', async () => {
    const { ingest, score, restart, listScored } = await world({ sample: { rate: 0, always: [] } });
    await score(ingest(buildTrace('1')));
    await restart(FIRST_TWO);
    await score(ingest(buildTrace('1')));
    const next = buildTrace('2');
    await score(ingest(next));
    await restart({ sample: { rate: 0, always: ['error', { newVersion: 2 }] } });
    await score(ingest(buildTrace('1')));
    expect(listScored()).toEqual([next.traceId]);
  });

  it('keep their number when the rule asks for more of later versions', async () => {
    const { ingest, score, restart, countFirst } = await world();
    await score(ingest(buildTrace('2'), buildTrace('2')));
    await restart({ sample: { rate: 0, always: [{ newVersion: 3 }] } });
    await score(ingest(buildTrace('2')));
    expect(countFirst()).toBe(2);
    await score(ingest(...[1, 2, 3, 4].map(() => buildTrace('3'))));
    expect(countFirst()).toBe(5);
  });

  it('are given up when the store takes no choice: the traces are sampled as all others', async () => {
    const { store, ingest, score } = await world();
    store.stores.versionSamples.append = async () => undefined;
    await score(ingest(buildTrace('2')));
    expect(store.decisions()).toMatchObject([{ status: 'sampled_out' }]);
  });
});
