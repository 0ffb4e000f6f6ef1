import { describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import type { Scoring } from '../../../../src/scoring/scoring.ts';
import { backfillMode, type ScoringMode } from '../../../../src/scoring/scoring-mode.ts';
import { prepareRule, type Rule, type Where } from '../../../../src/scoring/select/rule.ts';
import { drawUniform, type PriorityReason } from '../../../../src/scoring/select/sample-trace.ts';
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

/** Price of `model-a`, USD per million tokens: a run of 10,000 tokens costs 0.01 USD. */
const PRICES = { 'test/model-a': { input: 1, output: 1 } };

function drawnId(isIn: boolean, rate: number): string {
  for (;;) {
    const id = newTraceId();
    if (drawUniform(id) < rate === isIn) {
      return id;
    }
  }
}

interface World {
  readonly store: MemoryStore;
  readonly scorer: CountingScorer;
  readonly mode: ScoringMode;
  readonly scoring: Scoring;
  /** Stores spans, waits until the trace is quiet, and scores it. */
  readonly score: (...spans: Span[]) => Promise<void>;
}

async function world(parts: Partial<Rule>): Promise<World> {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a');
  const mode = await buildLiveMode(store, buildRule([scorer], parts));
  const scoring = createTestScoring(store, {}, { prices: PRICES });
  return {
    store,
    scorer,
    mode,
    scoring,
    async score(...spans) {
      store.ingest(spans);
      store.clockMs += QUIET_MS;
      await scoreTraces(scoring, [{ tenant: '', traceId: spans[0]!.traceId }], mode);
    },
  };
}

type SpanOptions = NonNullable<Parameters<typeof agentSpan>[2]>;

/** Returns the decision of a rule on a trace of one span, and whether the content was read. */
async function decideOn(where: Where, span: SpanOptions = {}) {
  const { store, score } = await world({ where });
  await score(agentSpan(newTraceId(), 'a', { says: 'x', ...span }));
  const [row] = store.decisions();
  return { status: row?.status, reason: row?.reason, isRead: store.reads.length > 0 };
}

const asked = { 'gen_ai.request.model': 'gpt-5-mini', 'gen_ai.response.model': 'gpt-5-mini-2025-08-07' };

const BY_SHAPE = { convention: 'by-shape' };

describe('conditions on a trace', () => {
  it.each<[string, Where, SpanOptions]>([
    ['the requested model', { model: ['gpt-5', 'gpt-5-mini'] }, { attributes: asked }],
    ['the model that answered', { model: ['gpt-5-mini-2025-08-07'] }, { attributes: asked }],
    ['a model that only the content names', { model: ['m'] }, { attributes: { model: 'm' } }],
    ['the duration', { durationMs: { min: 1_000, max: 1_000 } }, {}],
    ['an error', { status: 'error' }, { error: true }],
    ['no error', { status: 'ok' }, {}],
    ['tokens', { tokens: { min: 10, max: 20 } }, { attributes: { tokens: '20' } }],
    ['its reading by shape', { readByShape: true }, { attributes: BY_SHAPE }],
    ['its reading by conventions', { readByShape: false, not: { readByShape: true } }, {}],
    ['nothing of not', { not: { service: ['shop'], tokens: { min: 100 }, status: 'error' } }, {}],
  ])('select a trace by %s', async (_name, where, span) => {
    expect(await decideOn(where, span)).toMatchObject({ status: 'scored' });
  });

  it.each<[Where, SpanOptions, string]>([
    [
      { model: ['gpt-5'] },
      { attributes: asked },
      'model is gpt-5-mini, gpt-5-mini-2025-08-07, the rule wants gpt-5',
    ],
    [{ durationMs: { min: 2_000 } }, { durationMs: 1_200 }, 'duration is 1.2 s, the rule wants at least 2 s'],
    [{ durationMs: { max: 500 } }, {}, 'duration is 1 s, the rule wants at most 500 ms'],
    [{ status: 'error' }, {}, 'status is ok, the rule wants error'],
    [{ not: { service: ['a', 'weather'] } }, {}, 'service is weather, the rule leaves out a or weather'],
    [{ not: { durationMs: { min: 1 } } }, {}, 'duration is 1 s, the rule leaves out at least 1 ms'],
  ])('leave a trace out without reading it: %j', async (where, span, reason) => {
    expect(await decideOn(where, span)).toEqual({
      status: 'filtered',
      reason: `where: ${reason}`,
      isRead: false,
    });
  });

  it.each<[Where, SpanOptions, string]>([
    [{ tokens: { min: 10 } }, { attributes: { tokens: '9' } }, 'tokens is 9, the rule wants at least 10'],
    [{ tokens: { min: 10 } }, {}, 'tokens is unknown, the rule wants at least 10'],
    [{ readByShape: true }, {}, 'readByShape is false, the rule wants true'],
    [{ readByShape: false }, { attributes: BY_SHAPE }, 'readByShape is true, the rule wants false'],
    [{ model: ['m'] }, {}, 'model is model-a, the rule wants m'],
    [
      { not: { tokens: { max: 9 } } },
      { attributes: { tokens: '9' } },
      'tokens is 9, the rule leaves out at most 9',
    ],
  ])('leave a trace out after reading it: %j', async (where, span, reason) => {
    expect(await decideOn(where, span)).toEqual({
      status: 'filtered',
      reason: `where: ${reason}`,
      isRead: true,
    });
  });

  it('on the content leave a trace unread that the sample leaves out', async () => {
    const { store, score } = await world({
      where: { tokens: { min: 1 } },
      sample: { rate: 0, always: ['error'] },
    });
    await score(agentSpan(newTraceId(), 'a', { says: 'x', attributes: { tokens: '9' } }));
    expect(store.decisions()).toMatchObject([{ status: 'sampled_out' }]);
    expect(store.reads).toEqual([]);
  });

  it('on the content withdraw the scores of a trace that no longer meets them', async () => {
    const { store, score } = await world({
      where: { not: { durationMs: { min: 10_000 } }, tokens: { min: 1 } },
    });
    const traceId = newTraceId();
    const answer = agentSpan(traceId, 'a', { says: 'x', attributes: { tokens: '9' } });
    await score(answer);
    expect(store.scores()).toHaveLength(1);
    await score(agentSpan(traceId, 'b', { parent: 'a', durationMs: 20_000 }));
    expect(store.scores()).toEqual([]);
    expect(store.decisions().map((row) => row.status)).toEqual(['filtered', 'filtered']);
  });
});

describe('a decision', () => {
  it.each<[string, Where, SpanOptions, boolean | undefined]>([
    ['scored', {}, { says: 'x', attributes: BY_SHAPE }, true],
    ['filtered', { readByShape: false }, { says: 'x', attributes: BY_SHAPE }, true],
    ['not_applicable', {}, { attributes: BY_SHAPE }, true],
    ['scored', {}, { says: 'x' }, undefined],
  ])('that is %s says whether the run was read by shape (where: %j)', async (status, where, span, said) => {
    const { store, score } = await world({ where });
    await score(agentSpan(newTraceId(), 'a', span));
    expect(store.decisions().map((row) => [row.status, row.readByShape])).toEqual([[status, said]]);
  });
});

describe('sampling by size', () => {
  const sizes: [string, PriorityReason, SpanOptions][] = [
    ['a slow trace', { slowMs: 5_000 }, { durationMs: 5_000 }],
    ['many tokens', { tokens: 10_000 }, { attributes: { tokens: '10000' } }],
    ['a costly run', { costlyUsd: 0.01 }, { attributes: { tokens: '10000' } }],
  ];

  it.each(sizes)('scores %s beyond the draw as priority, with the weight 1', async (_name, reason, span) => {
    const { store, score } = await world({ sample: { rate: 0.5, always: [reason] } });
    await score(agentSpan(drawnId(false, 0.5), 'a', { says: 'x', ...span }));
    expect(store.scores()).toMatchObject([{ stratum: 'priority', inclusionProbability: 1, weight: 1 }]);
  });

  it.each(sizes)(
    'gives %s of the draw the weight 1, too: it is always scored',
    async (_name, reason, span) => {
      const { store, score } = await world({ sample: { rate: 0.5, always: [reason] } });
      await score(agentSpan(drawnId(true, 0.5), 'a', { says: 'x', ...span }));
      expect(store.scores()).toMatchObject([{ stratum: 'uniform', inclusionProbability: 1, weight: 1 }]);
    },
  );

  it('gives a small trace of the draw the weight of the rate', async () => {
    const { store, score } = await world({ sample: { rate: 0.5, always: [{ tokens: 10 }] } });
    await score(agentSpan(drawnId(true, 0.5), 'a', { says: 'x', attributes: { tokens: '9' } }));
    expect(store.scores()).toMatchObject([{ stratum: 'uniform', inclusionProbability: 0.5, weight: 2 }]);
  });

  it('does not read a short trace for its duration', async () => {
    const { store, score } = await world({ sample: { rate: 0, always: [{ slowMs: 5_000 }] } });
    await score(agentSpan(newTraceId(), 'a', { says: 'x' }));
    expect(store.decisions()).toMatchObject([
      { status: 'sampled_out', reason: 'sampled_out: not among the 0 % that the rule scores' },
    ]);
    expect(store.reads).toEqual([]);
  });

  it.each([
    [{ tokens: '9' }, '9 tokens, 0.000009 USD'],
    [{ tokens: '90000', model: 'unheard' }, '90000 tokens, unknown cost'],
  ])('samples out a small or unpriced trace after reading it: %j', async (attributes, seen) => {
    const { store, scorer, score } = await world({ sample: { rate: 0.07, always: [{ costlyUsd: 0.01 }] } });
    await score(agentSpan(drawnId(false, 0.07), 'a', { says: 'x', attributes }));
    expect(store.decisions()).toMatchObject([
      {
        scorer: '*',
        status: 'sampled_out',
        weight: null,
        reason: `sampled_out: not among the 7 % that the rule scores, and sample.always does not name it (${seen})`,
      },
    ]);
    expect(store.runs()).toMatchObject([{ readFrom: 'content' }]);
    expect(scorer.inputs).toEqual([]);
  });

  it('takes a trace when one of its runs is large', async () => {
    const { store, score } = await world({ sample: { rate: 0, always: [{ tokens: 50 }] } });
    const traceId = newTraceId();
    await score(
      agentSpan(traceId, 'a', { says: 'x', attributes: { tokens: '9' } }),
      agentSpan(traceId, 'b', { says: 'y', attributes: { tokens: '50' } }),
    );
    expect(store.scores().map(({ stratum }) => stratum)).toEqual(['priority', 'priority']);
  });
});

describe('feedback that comes late', () => {
  it('opens a trace again that the sample left out', async () => {
    const { store, score } = await world({ sample: { rate: 0, always: ['negative-feedback'] } });
    const traceId = newTraceId();
    await score(agentSpan(traceId, 'a', { says: 'x' }));
    expect(store.decisions()).toMatchObject([{ status: 'sampled_out' }]);
    await score(agentSpan(traceId, 'f', { parent: 'a', attributes: { 'user.feedback.score': '-1' } }));
    expect(store.scores()).toMatchObject([{ stratum: 'priority', weight: 1 }]);
    expect(store.decisions().map(({ scorer, status }) => `${scorer} ${status}`)).toEqual([
      '* scored',
      'a scored',
    ]);
  });
});

describe('the weight of a score', () => {
  it('counts the sampling before spanscore', async () => {
    const { store, score } = await world({ sample: { rate: 0.5, always: ['error'] } });
    const spans = [
      agentSpan(drawnId(true, 0.5), 'a', { says: 'x', traceState: 'ot=th:c' }),
      agentSpan(drawnId(false, 0.5), 'a', { says: 'x', traceState: 'ot=th:c', error: true }),
    ];
    for (const span of spans) {
      await score(span);
    }
    expect(store.scores().map((each) => [each.stratum, each.inclusionProbability, each.weight])).toEqual([
      ['uniform', 0.5, 8],
      ['priority', 1, 4],
    ]);
    expect(store.decisions().map((row) => row.weight)).toEqual([8, 4]);
  });

  it('follows facts that come late, without another run or export', async () => {
    const { store, scorer, score } = await world({ sample: { rate: 0.5, always: ['error'] } });
    const traceId = drawnId(true, 0.5);
    await score(agentSpan(traceId, 'a', { says: 'x' }));
    expect(store.scores()).toMatchObject([{ inclusionProbability: 0.5, weight: 2, revision: 1 }]);
    await score(agentSpan(traceId, 'b', { parent: 'a', error: true }));
    expect(store.scores()).toMatchObject([
      { stratum: 'uniform', inclusionProbability: 1, weight: 1, revision: 1 },
    ]);
    expect(store.decisions()).toMatchObject([{ inclusionProbability: 1, weight: 1 }]);
    expect(scorer.inputs).toHaveLength(1);
  });

  it('stays when late facts change nothing', async () => {
    const { store, score } = await world({ sample: { rate: 0.5, always: ['error'] } });
    const traceId = drawnId(true, 0.5);
    await score(agentSpan(traceId, 'a', { says: 'x' }));
    await score(agentSpan(traceId, 'b', { parent: 'a' }));
    expect(store.scoreLog).toHaveLength(1);
  });

  it('follows an error whose insert was stamped before the decision', async () => {
    const { store, mode, scoring, score } = await world({ sample: { rate: 0.5, always: ['error'] } });
    const traceId = drawnId(true, 0.5);
    await score(agentSpan(traceId, 'a', { says: 'x' }));
    const decidedMs = store.clockMs;
    store.clockMs -= QUIET_MS;
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', error: true })]);
    store.clockMs = decidedMs;
    await scoreTraces(scoring, [{ tenant: '', traceId, reread: true }], mode);
    expect(store.scores()).toMatchObject([{ weight: 1, revision: 2 }]);
    expect(store.decisions()).toMatchObject([{ weight: 1 }]);
  });

  it('is that of the greatest probability when two rules share a scorer', async () => {
    const store = new MemoryStore();
    const scorer = new CountingScorer('a');
    const mode = await buildLiveMode(
      store,
      buildRule([scorer], { name: 'some', sample: { rate: 0.5, always: [] } }),
      buildRule([scorer], { name: 'failed', sample: { rate: 0, always: ['error'] } }),
    );
    const traceId = drawnId(true, 0.5);
    store.ingest([agentSpan(traceId, 'a', { says: 'x', error: true })]);
    store.clockMs += QUIET_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    expect(store.scores()).toMatchObject([{ stratum: 'uniform', inclusionProbability: 1, weight: 1 }]);
    expect(store.decisions().map(({ rule, weight }) => [rule, weight])).toEqual([
      ['some', 2],
      ['failed', 1],
    ]);
  });

  it('of a live score is not that of a backfill', async () => {
    const { store, scoring, score } = await world({ sample: { rate: 0.5, always: [] } });
    const traceId = drawnId(true, 0.5);
    await score(agentSpan(traceId, 'a', { says: 'x' }));
    const backfill = backfillMode([
      prepareRule(buildRule([new CountingScorer('a')], { name: 'backfill:1' })),
    ]);
    await scoreTraces(scoring, [{ tenant: '', traceId }], backfill);
    expect(store.scores()).toMatchObject([{ source: 'live', weight: 2 }]);
  });

  it('of a backfill counts it, too', async () => {
    const store = new MemoryStore();
    const mode = backfillMode([prepareRule(buildRule([new CountingScorer('a')], { name: 'backfill:1' }))]);
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', traceState: 'ot=th:8' })]);
    store.clockMs += QUIET_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    expect(store.scores()).toMatchObject([{ stratum: 'backfill', weight: 2 }]);
  });
});
