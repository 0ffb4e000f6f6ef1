import { describe, expect, it } from 'vitest';
import type { Span } from '../../../src/domain/trace/span.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { backfillMode, type ScoringMode } from '../../../src/scoring/scoring-mode.ts';
import { prepareRule, type Rule, type Where } from '../../../src/scoring/select/rule.ts';
import { drawUniform, sampleTrace, type PriorityReason } from '../../../src/scoring/select/sample-trace.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  CountingScorer,
  createTestScoring,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';
import { fc } from '../../support/fast-check.ts';
import { readUpstreamProbability } from '../../../src/scoring/select/select-rules.ts';

describe('the conditions of rules', () => {
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
      [
        { durationMs: { min: 2_000 } },
        { durationMs: 1_200 },
        'duration is 1.2 s, the rule wants at least 2 s',
      ],
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

    it.each(sizes)(
      'scores %s beyond the draw as priority, with the weight 1',
      async (_name, reason, span) => {
        const { store, score } = await world({ sample: { rate: 0.5, always: [reason] } });
        await score(agentSpan(drawnId(false, 0.5), 'a', { says: 'x', ...span }));
        expect(store.scores()).toMatchObject([{ stratum: 'priority', inclusionProbability: 1, weight: 1 }]);
      },
    );

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
});

describe('the sample of a rule', () => {
  const traceId = fc.stringMatching(/^[0-9a-f]{32}$/);
  const rate = fc.double({ min: 0, max: 1, noNaN: true });
  const quiet = {
    hasError: false,
    hasToolError: false,
    hasNegativeFeedback: false,
    durationMs: 0,
    isFirstOfVersion: false,
  };

  describe('the draw of a trace', () => {
    it('is the same everywhere and at any time', () => {
      expect(drawUniform('4bf92f3577b34da6a3ce929d0e0e4736')).toBe(0.5658556483058419);
      expect(drawUniform('4BF92F3577B34DA6A3CE929D0E0E4736')).toBe(0.5658556483058419);
    });

    it('is uniform for any form of ids', () => {
      const draws = Array.from({ length: 20_000 }, (_, index) =>
        drawUniform(index.toString(16).padStart(32, '0')),
      );
      const buckets = Array.from({ length: 20 }, () => 0);
      for (const draw of draws) {
        buckets[Math.floor(draw * 20)]! += 1;
      }
      const chiSquare = buckets.reduce((sum, count) => sum + (count - 1_000) ** 2 / 1_000, 0);
      // The 99.9 % quantile for 19 degrees of freedom.
      expect(chiSquare).toBeLessThan(43.8);
    });

    it('lies in [0, 1)', () => {
      fc.assert(
        fc.property(traceId, (id) => {
          expect(drawUniform(id)).toBeGreaterThanOrEqual(0);
          expect(drawUniform(id)).toBeLessThan(1);
        }),
      );
    });
  });

  describe('sampling', () => {
    it('keeps everything at rate 1 and nothing at rate 0', () => {
      fc.assert(
        fc.property(traceId, (id) => {
          expect(sampleTrace(id, { rate: 1, always: [] })).toEqual({
            included: true,
            stratum: 'uniform',
            inclusionProbability: 1,
            weight: 1,
          });
          expect(sampleTrace(id, { rate: 0, always: [] })).toMatchObject({ included: false, weight: null });
        }),
      );
    });

    it('is nested: a higher rate takes every trace of a lower rate', () => {
      fc.assert(
        fc.property(traceId, rate, rate, (id, one, other) => {
          const [low, high] = [Math.min(one, other), Math.max(one, other)];
          const isIn = (each: number) => sampleTrace(id, { rate: each, always: [] }).included;
          expect(!isIn(low) || isIn(high)).toBe(true);
        }),
      );
    });

    it('calls a priority trace of the draw uniform, and gives both the weight 1', () => {
      fc.assert(
        fc.property(traceId, rate, (id, p) => {
          const sample = sampleTrace(id, { rate: p, always: ['error'] }, { ...quiet, hasError: true });
          const drawn = sampleTrace(id, { rate: p, always: [] }).included;
          expect(sample).toEqual({
            included: true,
            stratum: drawn ? 'uniform' : 'priority',
            inclusionProbability: 1,
            weight: 1,
          });
        }),
      );
    });

    it.each([
      ['error', { hasError: true }],
      ['tool-error', { hasToolError: true }],
      ['negative-feedback', { hasNegativeFeedback: true }],
    ] as const)('takes %s traces only when told to', (reason, facts) => {
      const all = { ...quiet, ...facts };
      expect(sampleTrace('a', { rate: 0, always: [reason] }, all).included).toBe(true);
      expect(sampleTrace('a', { rate: 0, always: [] }, all).included).toBe(false);
      expect(sampleTrace('a', { rate: 0, always: [reason] }, quiet).included).toBe(false);
    });

    it('gives weights that make the weighted mean of a mixed sample right', () => {
      const ids = Array.from({ length: 40_000 }, (_, index) => index.toString(16).padStart(32, '0'));
      let weights = 0;
      let weighted = 0;
      for (const [index, id] of ids.entries()) {
        const isError = index % 20 === 0;
        const { weight } = sampleTrace(
          id,
          { rate: 0.05, always: ['error'] },
          { ...quiet, hasError: isError },
        );
        weights += weight ?? 0;
        weighted += (weight ?? 0) * (isError ? 0.3 : 0.826);
      }
      expect(weighted / weights).toBeCloseTo(0.05 * 0.3 + 0.95 * 0.826, 2);
    });
  });
});

describe('samplers before spanscore', () => {
  const traceId = newTraceId();

  function probabilityOf(...traceStates: string[]): number {
    const spans = traceStates.map((traceState, index) =>
      agentSpan(traceId, `${index}`, { traceState, ...(index === 0 ? {} : { parent: '0' }) }),
    );
    return readUpstreamProbability({ spans });
  }

  describe('the probability of sampling before spanscore', () => {
    it.each([
      ['ot=th:8', 0.5],
      ['ot=th:0', 1],
      ['ot=th:c', 0.25],
      ['ot=th:fd70a4', 1 - 0xfd70a4 / 2 ** 24],
      ['ot=th:ffffffffffffff', 2 ** -56],
      ['vendor=x:th:1,ot=rv:6e6d1a75832a2f;th:e', 0.125],
      ['ot=th:8;rv:6e6d1a75832a2f, other=1', 0.5],
    ])('comes from the threshold of %s', (traceState, expected) => {
      expect(probabilityOf(traceState)).toBeCloseTo(expected, 8);
    });

    it.each([
      '',
      'ot=',
      'ot=th:',
      'ot=th:8G',
      'ot=th:C',
      'ot=th:123456789abcdef',
      'ot=th:-8',
      'ot=rv:6e6d1a75832a2f',
      'not=th:8',
      'other=th:8',
      'ot=xth:8',
    ])('is 1 without a threshold that can be read: %s', (traceState) => {
      expect(probabilityOf(traceState)).toBe(1);
    });

    it('comes from the root, else from the first span that tells it', () => {
      expect(probabilityOf('ot=th:8', 'ot=th:c')).toBe(0.5);
      expect(probabilityOf('', 'ot=th:c', 'ot=th:8')).toBe(0.25);
      const spans = ['a', 'b'].map((id, index) =>
        agentSpan(traceId, id, {
          traceState: index === 0 ? 'ot=th:c' : 'ot=th:8',
          ...(index === 0 ? { parent: 'b' } : {}),
        }),
      );
      expect(readUpstreamProbability({ spans })).toBe(0.5);
    });
  });
});

describe('the first traces of versions', () => {
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
});
