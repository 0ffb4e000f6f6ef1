import { setTimeout as sleep } from 'node:timers/promises';
import { SOLE_CLAIMS } from '../../../src/ownership/ownership.ts';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { describe, expect, it } from 'vitest';
import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { apiMode, backfillMode, previewMode } from '../../../src/scoring/scoring-mode.ts';
import { prepareRule } from '../../../src/scoring/select/rule.ts';
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
import type { Span } from '../../../src/domain/trace/span.ts';
import { MAX_MODEL_CALLS, MAX_TARGETS } from '../../../src/scoring/select/targets.ts';
import { createJoiningScoring } from '../../support/builders/pieces.ts';
import { buildSpan, computeSpanId, chatMessage, chatSpan, toolCall } from '../../support/builders/spans.ts';
import { createBehaviourScorer } from '../../../src/scorers/prebuilt/behaviour.ts';

describe('the scoring of traces', () => {
  const QUIET_MS = 60_000;
  const DAY_MS = 86_400_000;

  function buildKey(traceId: string) {
    return { tenant: '', traceId };
  }

  function brief(store: MemoryStore) {
    return store
      .decisions()
      .map((row) => `${row.targetId.slice(32)}${row.scorer} ${row.status} ${row.reason.split(':')[0]}`.trim())
      .sort();
  }

  async function oneTrace(store: MemoryStore, answer = 'It rains.') {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: answer })]);
    store.clockMs += QUIET_MS;
    return traceId;
  }

  interface Scored {
    readonly answer?: string;
    /** Spans of the trace; default: an agent with the answer. */
    readonly spans?: (traceId: string) => readonly Span[];
    readonly terms?: Parameters<typeof createTestScoring>[1];
  }

  /** Scores a new trace live by a rule. `again` scores it once more, by default after its quiet time. */
  async function scoredTrace(
    rule: ReturnType<typeof buildRule>,
    { answer = 'It rains.', terms, spans = (id) => [agentSpan(id, 'a', { says: answer })] }: Scored = {},
  ) {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, rule);
    const traceId = newTraceId();
    store.ingest(spans(traceId));
    store.clockMs += QUIET_MS;
    const scoring = createTestScoring(store, terms);
    const again = async (laterMs = QUIET_MS) => {
      store.clockMs += laterMs;
      return scoreTraces(scoring, [buildKey(traceId)], mode);
    };
    await again(0);
    return { store, mode, traceId, scoring, again };
  }

  describe('the failures of a trace', () => {
    it('are stored with the draw of the run, and go when late spans mend it', async () => {
      const { store, traceId, again } = await scoredTrace(buildRule([new CountingScorer('a')]), {
        answer: "I'm sorry, I can't help with that.",
      });
      expect([...store.failures.values()]).toMatchObject([
        { traceId, kind: 'answer', subject: { answer: 'refusal' }, weight: 1, stratum: 'uniform' },
      ]);
      store.ingest([agentSpan(traceId, 'a', { says: 'It rains in Ghent.' })]);
      await again();
      expect([...store.failures.values()]).toEqual([]);
    });

    it('are stored in the round of writes of its scores and its decision', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = await oneTrace(store, "I'm sorry, I can't help with that.");
      const never = 3_600_000;
      // A second round would not come.
      const pace = {
        everyMs: never,
        urgentEveryMs: never,
        busyEveryMs: never,
        manyItems: 1_000,
        gatherMs: 100,
      };
      await scoreTraces(createTestScoring(store, { commitPace: pace }), [buildKey(traceId)], mode);
      expect([store.failures.size, store.decisions().map(({ status }) => status)]).toEqual([1, ['scored']]);
    });

    it('are none of a run that the sample leaves out', async () => {
      const store = new MemoryStore();
      const rule = buildRule([new CountingScorer('a')], { sample: { rate: 0, always: [] } });
      const traceId = await oneTrace(store, "I'm sorry, I can't help with that.");
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], await buildLiveMode(store, rule));
      expect([...store.failures.values()]).toEqual([]);
    });
  });

  describe('scoring a trace', () => {
    it('writes a score row and a decision row for every scorer of the rule', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a'), new CountingScorer('b')]));
      const traceId = await oneTrace(store);
      const arrivedMs = store.clockMs - QUIET_MS;
      const [outcome] = await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(outcome?.error).toBeNull();
      expect(brief(store)).toEqual(['a scored', 'b scored']);
      expect(store.decisions()[0]).toMatchObject({
        evidenceUntil: arrivedMs,
        revision: 1,
        attempts: 1,
        stratum: 'uniform',
        inclusionProbability: 1,
        weight: 1,
        decidedAt: store.clockMs,
      });
      expect(store.scores()[0]).toMatchObject({
        traceId,
        targetId: traceId,
        target: 'trace',
        spanId: 'a000000000000000',
        score: 1,
        scoreMin: 0,
        scoreMax: 1,
        higherIsBetter: true,
        serviceName: 'weather',
        agent: 'tester',
        agentVersion: '1.2.0',
        model: 'model-a',
        day: '2026-11-21',
        source: 'live',
        completeness: 'complete',
        revision: 1,
        costUsd: 0,
        judgeCalls: 0,
        inputTokens: null,
      });
    });

    it('gives scorers the messages, the context and the source of the score', async () => {
      const scorer = new CountingScorer('a');
      const { store, traceId } = await scoredTrace(buildRule([scorer]), {
        spans: (id) => [
          agentSpan(id, 'a', { says: 'It rains.' }),
          agentSpan(id, 'b', { parent: 'a', tool: { name: 'weather', result: 'rain' } }),
        ],
      });
      expect(scorer.inputs).toHaveLength(1);
      expect(scorer.inputs[0]).toMatchObject({
        context: ['rain'],
        documents: [],
        runId: store.scores()[0]?.scoreId,
        scoreSource: 'live',
        targetTraceId: traceId,
        targetSpanId: 'a000000000000000',
        requestContext: {},
      });
    });

    it('does not read a decided trace', async () => {
      const scorer = new CountingScorer('a');
      const { store, again } = await scoredTrace(buildRule([scorer]));
      await again(0);
      expect(scorer.inputs).toHaveLength(1);
      expect(store.reads).toHaveLength(1);
      expect(store.decisionLog).toHaveLength(1);
    });

    it('does not score a trace that still arrives, and returns when it is ready', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = newTraceId();
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
      const [outcome] = await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(outcome?.waitUntilMs).toBe(store.clockMs + 5_000);
      expect(store.decisions()).toEqual([]);
    });

    it('marks a trace without its root that is scored at the maximum wait as partial', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = newTraceId();
      store.ingest([agentSpan(traceId, 'c', { parent: 'gone', says: 'x' })]);
      for (let passed = 0; passed < 15 * 60_000; passed += 10_000) {
        store.clockMs += 10_000;
        store.ingest([agentSpan(traceId, 'c', { parent: 'gone', says: 'x' })]);
      }
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(store.scores()).toMatchObject([{ completeness: 'partial' }]);
    });

    it('writes no row for a trace without any agent or model span', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = newTraceId();
      const http = { ...agentSpan(traceId, 'a'), attributes: new Map([['http.method', 'GET']]) };
      store.ingest([http]);
      store.clockMs += QUIET_MS;
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(store.decisionLog).toEqual([]);
      expect(store.reads).toEqual([]);
    });

    it('decides a run that cannot be scored once for the whole rule', async () => {
      const { store } = await scoredTrace(buildRule([new CountingScorer('a'), new CountingScorer('b')]), {
        spans: (id) => [agentSpan(id, 'a')],
      });
      expect(brief(store)).toEqual(['* not_applicable no_content_captured']);
      expect(store.scores()).toEqual([]);
    });

    it('names the runs of a trace with several: the first by the trace id alone', async () => {
      const { store, traceId } = await scoredTrace(buildRule([new CountingScorer('a')]), {
        spans: (id) => [agentSpan(id, 'a', { says: 'x' }), agentSpan(id, 'b', { says: 'y' })],
      });
      expect(store.scores().map((score) => score.targetId)).toEqual([traceId, `${traceId}/1`]);
    });

    it('keeps equal trace ids of two tenants apart', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = newTraceId();
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })], { tenant: 'one' });
      store.ingest([agentSpan(traceId, 'a', { says: 'y' })], { tenant: 'two' });
      store.clockMs += QUIET_MS;
      const keys = [
        { tenant: 'one', traceId },
        { tenant: 'two', traceId },
      ];
      await scoreTraces(createTestScoring(store), keys, mode);
      expect(new Set(store.scores().map((score) => score.scoreId)).size).toBe(2);
      expect(store.scores().map((score) => score.tenant)).toEqual(['one', 'two']);
    });

    it('does not score a trace that arrived before the rule was first loaded', async () => {
      const store = new MemoryStore();
      const traceId = await oneTrace(store);
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(store.decisionLog).toEqual([]);
    });

    it('scores a trace by the scorers and the rate that the rule had when it arrived', async () => {
      const store = new MemoryStore();
      await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = await oneTrace(store);
      const later = buildRule([new CountingScorer('a'), new CountingScorer('b')], {
        sample: { rate: 0, always: [] },
      });
      const mode = await buildLiveMode(store, later);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(brief(store)).toEqual(['a scored']);
      expect(store.decisions()).toMatchObject([{ inclusionProbability: 1, weight: 1 }]);
    });

    it('uses the current rule when the configuration went back to an earlier one', async () => {
      const store = new MemoryStore();
      const first = buildRule([new CountingScorer('a'), new CountingScorer('b')]);
      await buildLiveMode(store, first);
      await buildLiveMode(store, buildRule([new CountingScorer('a')], { sample: { rate: 0, always: [] } }));
      const mode = await buildLiveMode(store, first);
      const traceId = await oneTrace(store);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(brief(store)).toEqual(['a scored', 'b scored']);
    });

    it('stores several named scores of one run under names of their own', async () => {
      const scorer = new CountingScorer('a', () => ({ score: 0.5, scores: [{ name: 'x', score: 0.25 }] }));
      const { store } = await scoredTrace(buildRule([scorer]));
      expect(store.scores().map(({ scorer: name, score }) => [name, score])).toEqual([
        ['a', 0.5],
        ['a/x', 0.25],
      ]);
      expect(brief(store)).toEqual(['a scored']);
    });

    it('stores named scores as they are where their names begin with the scorer, each with its verdicts', async () => {
      const store = new MemoryStore();
      const verdicts = [{ statement: 's', verdict: 'supported' }];
      const named = [
        { name: 'a-first', score: 0.25, verdicts },
        { name: 'a-second', score: 1 },
      ];
      const mode = await buildLiveMode(
        store,
        buildRule([new CountingScorer('a', () => ({ scores: named }))]),
      );
      const traceId = await oneTrace(store);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(store.scores().map(({ scorer, score, verdicts: kept }) => [scorer, score, kept])).toEqual([
        ['a-first', 0.25, verdicts],
        ['a-second', 1, []],
      ]);
    });
  });

  describe('redaction', () => {
    it('shows a judged scorer the run without secrets, counts them, and leaves code scorers the run as it is', async () => {
      const [code, judge] = [new CountingScorer('a'), judged('j')];
      const { store } = await scoredTrace(buildRule([code, judge]), {
        spans: (id) => [
          agentSpan(id, 'a', { says: 'Mail ann@example.com.' }),
          agentSpan(id, 'b', { parent: 'a', tool: { name: 't', result: 'bob@example.com' } }),
        ],
      });
      expect(JSON.stringify(judge.inputs[0])).not.toMatch(/@example/);
      expect(JSON.stringify(code.inputs[0])).toMatch(/ann@example.com.*bob@example.com/);
      const redactions = store.scores().map((score) => [score.scorer, score.redactions]);
      expect(redactions).toEqual([
        ['a', 0],
        ['j', expect.any(Number)],
      ]);
      expect(store.scores()[1]?.redactions).toBeGreaterThanOrEqual(2);
    });
  });

  describe('a scorer that does not declare whether it asks a judge', () => {
    it('counts as judged: it never gets content that must not leave the process', async () => {
      const store = new MemoryStore();
      const inputs: unknown[] = [];
      const foreign = {
        id: 'foreign',
        run: async (input: unknown) => {
          inputs.push(input);
          return { score: 1 };
        },
      };
      const mode = await buildLiveMode(store, buildRule([foreign]));
      await scoreTraces(
        createTestScoring(store),
        [buildKey(await oneTrace(store, 'Mail ann@example.com.'))],
        mode,
      );
      expect(JSON.stringify(inputs)).not.toContain('ann@example.com');
      expect(store.scores()).toMatchObject([{ score: 1, redactions: 2, costUsd: 0 }]);
    });
  });

  describe('where and sampling', () => {
    it('filters without reading the trace, and says which condition failed', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(
        store,
        buildRule([new CountingScorer('a')], { where: { service: ['shop'] } }),
      );
      const traceId = await oneTrace(store);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(store.decisions()).toMatchObject([
        {
          scorer: '*',
          status: 'filtered',
          reason: 'where: service is weather, the rule wants shop',
          weight: null,
        },
      ]);
      expect(store.reads).toEqual([]);
    });

    it('samples out without reading, and does not check again until spans come', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(
        store,
        buildRule([new CountingScorer('a')], { sample: { rate: 0, always: [] } }),
      );
      const traceId = await oneTrace(store);
      const scoring = createTestScoring(store);
      await scoreTraces(scoring, [buildKey(traceId)], mode);
      await scoreTraces(scoring, [buildKey(traceId)], mode);
      expect(brief(store)).toEqual(['* sampled_out sampled_out']);
      expect(store.decisionLog).toHaveLength(1);
      expect(store.reads).toEqual([]);
    });

    it('scores error traces that the rate would have left out, as a stratum of their own', async () => {
      const rule = buildRule([new CountingScorer('a')], { sample: { rate: 0, always: ['error'] } });
      const { store } = await scoredTrace(rule, {
        spans: (id) => [agentSpan(id, 'a', { says: 'x', error: true })],
      });
      expect(store.scores()).toMatchObject([{ stratum: 'priority', inclusionProbability: 1, weight: 1 }]);
    });

    it('replaces the verdict on the rule when a late span changes it', async () => {
      const rule = buildRule([new CountingScorer('a')], { sample: { rate: 0, always: ['error'] } });
      const { store, traceId, again } = await scoredTrace(rule);
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', error: true })]);
      await again();
      expect(brief(store)).toEqual(['* scored superseded', 'a scored']);
    });
  });

  describe('failures', () => {
    it('scores and writes the code scorers of a trace whose judge is dead', async () => {
      const dead = judged('j', () => {
        throw new JudgeError('judge_unavailable', 'connection refused');
      });
      const { store } = await scoredTrace(buildRule([new CountingScorer('a'), dead]));
      expect(brief(store)).toEqual(['a scored', 'j deferred judge_unavailable']);
      expect(store.decisions().find((row) => row.scorer === 'j')).toMatchObject({
        attempts: 1,
        nextAttemptAt: store.clockMs + 10_000,
        reason: 'judge_unavailable: connection refused',
      });
      expect(store.scores().map((score) => score.scorer)).toEqual(['a']);
    });

    it('tries a deferred scorer again when it is due, waiting longer each time, and then scores it', async () => {
      let isDead = true;
      const scorer = judged('j', () => {
        if (isDead) {
          throw new JudgeError('judge_rate_limited', 'slow down', { retryAfterMs: 90_000 });
        }
        return { score: 0.5 };
      });
      const code = new CountingScorer('a');
      const { store, again } = await scoredTrace(buildRule([code, scorer]));
      store.clockMs += 89_000;
      await again(0);
      expect(scorer.inputs).toHaveLength(1);
      store.clockMs += 2_000;
      isDead = false;
      await again(0);
      expect(brief(store)).toEqual(['a scored', 'j scored']);
      expect(store.decisions().find((row) => row.scorer === 'j')).toMatchObject({ attempts: 2, revision: 1 });
      expect(code.inputs).toHaveLength(1);
    });

    it.each([
      ['a malformed reply', new JudgeError('judge_malformed', 'no JSON'), 'j deferred judge_malformed'],
      ['a refusal', new JudgeError('judge_refused', 'no'), 'j failed judge_refused'],
      ['a dead key', new JudgeError('judge_unauthorised', '401'), 'j deferred judge_unauthorised'],
      ['a scorer that throws', new TypeError('x is undefined'), 'j failed scorer_failed'],
      [
        'an error of ours inside a foreign one',
        new Error('wrapped', { cause: new JudgeError('judge_unavailable', '503') }),
        'j deferred judge_unavailable',
      ],
    ])('decides %s without a score', async (_what, error, expected) => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(
        store,
        buildRule([
          judged('j', () => {
            throw error;
          }),
        ]),
      );
      const traceId = await oneTrace(store);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(brief(store)).toEqual([expected]);
      expect(store.scores()).toEqual([]);
    });

    it.each([
      ['no number', { score: '0.5' as unknown as number }],
      ['not finite', { score: Number.NaN }],
      ['nothing', {}],
    ])('never stores a score that is %s', async (_what, result) => {
      const { store } = await scoredTrace(buildRule([new CountingScorer('a', () => result)]));
      expect(brief(store)).toEqual(['a failed scorer_failed']);
      expect(store.scoreLog).toEqual([]);
    });

    it('fails a scorer that takes too long, without waiting for it', async () => {
      const hanging = new CountingScorer('a', () => new Promise(() => undefined));
      const { store } = await scoredTrace(buildRule([hanging, new CountingScorer('b')]), {
        terms: { scorerTimeoutMs: 20 },
      });
      expect(brief(store)).toEqual(['a failed timeout', 'b scored']);
    });

    it('decides a run that a scorer calls not scorable as not applicable to that scorer', async () => {
      const scorer = new CountingScorer('a', () => ({
        notScorable: { step: 'preprocess', reason: 'no context' },
      }));
      const { store } = await scoredTrace(buildRule([scorer, new CountingScorer('b')]));
      expect(brief(store)).toEqual(['a not_applicable not_scorable', 'b scored']);
    });

    it('lets other work run while it starts the traces of a batch', async () => {
      const store = new MemoryStore();
      let turns = 0;
      const count = () => {
        turns += 1;
        counter = setImmediate(count);
      };
      let counter = setImmediate(count);
      const turnsOfTraces: number[] = [];
      const scorer = new CountingScorer('a', () => {
        turnsOfTraces.push(turns);
        const endMs = performance.now() + 10;
        while (performance.now() < endMs);
        return { score: 1 };
      });
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const keys = await Promise.all(Array.from({ length: 20 }, async () => buildKey(await oneTrace(store))));
      await scoreTraces(createTestScoring(store), keys, mode);
      clearImmediate(counter);
      expect(new Set(turnsOfTraces).size).toBeGreaterThan(2);
    });

    it('writes the failure of a judge at once while another scorer of the rule still runs', async () => {
      const store = new MemoryStore();
      const slow = Promise.withResolvers<{ score: number }>();
      const dead = judged('dead', () => {
        throw new JudgeError('judge_unavailable', 'gone');
      });
      const mode = await buildLiveMode(store, buildRule([dead, judged('slow', () => slow.promise)]));
      const traceId = await oneTrace(store);
      const work = scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      await expect
        .poll(() => brief(store))
        .toEqual(['dead deferred judge_unavailable', 'slow deferred in_progress']);
      slow.resolve({ score: 1 });
      await work;
      expect(brief(store)).toEqual(['dead deferred judge_unavailable', 'slow scored']);
    });

    it('continues with the other traces when one cannot be written', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const [bad, good] = [await oneTrace(store, 'bad'), await oneTrace(store, 'good')];
      const write = store.stores.decisions.write.bind(store.stores.decisions);
      store.stores.decisions.write = async (rows) => {
        if (rows.some((row) => row.traceId === bad)) {
          throw new AppError('refused', { code: 'store_rejected', stage: 'store', retryable: false });
        }
        await write(rows);
      };
      const outcomes = await scoreTraces(createTestScoring(store), [buildKey(bad), buildKey(good)], mode);
      expect(outcomes.map((outcome) => outcome.error?.code ?? null)).toEqual(['store_rejected', null]);
      expect(store.decisions().map((row) => row.traceId)).toEqual([good]);
    });
  });

  describe('late spans', () => {
    it('replaces the score of a trace that got a new tool result', async () => {
      const scorer = judged('j', (input) => ({ score: input.context!.length / 10 }));
      const { store, traceId, again } = await scoredTrace(buildRule([scorer]));
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
      await again();
      expect(store.scores()).toMatchObject([{ score: 0.1, revision: 2 }]);
      expect(store.decisions()).toMatchObject([{ status: 'scored', revision: 2 }]);
      expect(scorer.inputs).toHaveLength(2);
    });

    it('asks no judge when the same spans are sent again; only the decision is written again', async () => {
      const scorer = judged('j');
      const { store, traceId, again } = await scoredTrace(buildRule([scorer]));
      store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
      const resentMs = store.clockMs;
      await again();
      expect(scorer.inputs).toHaveLength(1);
      expect(store.decisions()).toMatchObject([{ status: 'scored', revision: 1, evidenceUntil: resentMs }]);
    });

    it('scores a trace again whose late insert has an earlier stamp', async () => {
      const store = new MemoryStore();
      const scorer = judged('j');
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = newTraceId();
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })], {
        heldBackMs: 30_000,
      });
      store.clockMs += 1;
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
      store.clockMs += 6_000;
      const scoring = createTestScoring(store);
      await scoreTraces(scoring, [buildKey(traceId)], mode);
      store.clockMs += 30_000;
      await scoreTraces(scoring, [{ ...buildKey(traceId), reread: true }], mode);
      expect(store.scores()).toMatchObject([{ revision: 2 }]);
      expect(store.decisions()).toMatchObject([{ status: 'scored', revision: 2 }]);
      expect(scorer.inputs.map((input) => input.context)).toEqual([[], ['rain']]);
    });

    it('waits twice as long before every further score of one trace', async () => {
      const { store, traceId, again } = await scoredTrace(buildRule([new CountingScorer('a')]));
      const waits: number[] = [];
      for (const id of ['b', 'c', 'd']) {
        store.ingest([agentSpan(traceId, id, { parent: 'a', says: id })]);
        const [outcome] = await again(0);
        waits.push((outcome?.waitUntilMs ?? 0) - store.clockMs);
        store.clockMs = outcome?.waitUntilMs ?? 0;
        await again(0);
      }
      expect(waits).toEqual([10_000, 20_000, 40_000]);
      expect(store.scores()).toMatchObject([{ revision: 4 }]);
    });

    it('scores a trace again at most three times a day', async () => {
      const scorer = judged('j');
      const { store, traceId, again } = await scoredTrace(buildRule([scorer]));
      for (const id of ['b', 'c', 'd', 'e', 'f']) {
        store.ingest([agentSpan(traceId, id, { parent: 'a', says: id })]);
        store.clockMs += 10 * QUIET_MS;
        await again(0);
      }
      expect(scorer.inputs).toHaveLength(4);
      expect(brief(store)).toEqual(['j scored late_limit']);
      expect(store.scores()).toMatchObject([{ revision: 4 }]);
      store.clockMs += DAY_MS;
      store.ingest([agentSpan(traceId, 'g', { parent: 'a', says: 'g' })]);
      store.clockMs += 10 * QUIET_MS;
      await again(0);
      expect(scorer.inputs).toHaveLength(5);
      expect(store.scores()).toMatchObject([{ revision: 5 }]);
    });

    it('withdraws the score of a run that later spans show to be part of another', async () => {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
      const traceId = newTraceId();
      const second = agentSpan(traceId, 'b', { says: 'y' });
      store.ingest([agentSpan(traceId, 'a', { says: 'x' }), second]);
      store.clockMs += QUIET_MS;
      const scoring = createTestScoring(store);
      await scoreTraces(scoring, [buildKey(traceId)], mode);
      expect(store.scores()).toHaveLength(2);
      store.ingest([{ ...second, parentSpanId: 'a000000000000000' }]);
      store.clockMs += QUIET_MS;
      await scoreTraces(scoring, [buildKey(traceId)], mode);
      expect(store.scores()).toMatchObject([{ targetId: traceId, revision: 2 }]);
      expect(brief(store)).toEqual(['/1a not_applicable target_gone', 'a scored']);
    });

    it('withdraws a score whose new evidence the judge cannot score', async () => {
      const scorer = judged('j', (input) => {
        if (input.context!.length > 0) {
          throw new JudgeError('judge_malformed', 'garbage');
        }
        return { score: 1 };
      });
      const { store, traceId, again } = await scoredTrace(buildRule([scorer]), {
        terms: { judgeAttempts: 1 },
      });
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
      await again();
      expect(store.scores()).toEqual([]);
      expect(brief(store)).toEqual(['j failed judge_malformed']);
      expect(store.decisions()).toMatchObject([{ revision: 2 }]);
    });

    it('keeps the earlier score while a deferred scorer waits for its judge', async () => {
      const scorer = judged('j', (input) => {
        if (input.context!.length > 0) {
          throw new JudgeError('judge_unavailable', 'gone');
        }
        return { score: 1 };
      });
      const { store, traceId, again } = await scoredTrace(buildRule([scorer]));
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
      await again();
      expect(store.scores()).toMatchObject([{ score: 1, revision: 1 }]);
      expect(brief(store)).toEqual(['j deferred judge_unavailable']);
    });

    it('fails a deferred decision whose trace expired with all its activity', async () => {
      const scorer = judged('j', () => {
        throw new JudgeError('judge_unavailable', 'gone');
      });
      const { store, again } = await scoredTrace(buildRule([scorer]));
      store.spanRows.length = 0;
      await again(0);
      expect(brief(store)).toEqual(['j failed evidence_gone']);
    });

    it('fails a deferred decision whose spans are no longer stored', async () => {
      const scorer = judged('j', () => {
        throw new JudgeError('judge_unavailable', 'gone');
      });
      const { store, again } = await scoredTrace(buildRule([scorer]));
      store.stores.spans.read = async () => new Map();
      await again();
      expect(brief(store)).toEqual(['* failed evidence_gone', 'j failed evidence_gone']);
    });
  });

  describe('a changed scorer', () => {
    class NewVersion extends CountingScorer {
      override readonly version: string = '2';
    }

    it('starts a new series for new traces, and does not score decided ones again', async () => {
      const store = new MemoryStore();
      const traceId = await (async () => {
        const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')]));
        const id = await oneTrace(store);
        await scoreTraces(createTestScoring(store), [buildKey(id)], mode);
        return id;
      })();
      const changed = new NewVersion('a');
      const mode = await buildLiveMode(store, buildRule([changed]));
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(changed.inputs).toEqual([]);
      await scoreTraces(createTestScoring(store), [buildKey(await oneTrace(store))], mode);
      expect(store.scores().map((score) => score.scorerVersion)).toEqual(['1', '2']);
      expect(new Set(store.scores().map((score) => score.fingerprint)).size).toBe(2);
    });

    it('gets a score beside the earlier one from a backfill of the same evidence', async () => {
      const { store, traceId } = await scoredTrace(buildRule([new CountingScorer('a')]));
      const rule = prepareRule(
        buildRule([new NewVersion('a', () => ({ score: 0.5 }))], { name: 'backfill:x' }),
      );
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], backfillMode([rule]));
      expect(store.scores().map(({ score, revision, source }) => [score, revision, source])).toEqual([
        [1, 1, 'live'],
        [0.5, 1, 'backfill'],
      ]);
    });

    it('runs on evidence on which its former version failed, when the trace is scored for another reason', async () => {
      const store = new MemoryStore();
      const fails = new CountingScorer('a', () => ({}));
      const traceId = await (async () => {
        const mode = await buildLiveMode(store, buildRule([fails]));
        const id = await oneTrace(store);
        await scoreTraces(createTestScoring(store), [buildKey(id)], mode);
        return id;
      })();
      store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
      store.clockMs += QUIET_MS;
      await scoreTraces(
        createTestScoring(store),
        [buildKey(traceId)],
        await buildLiveMode(store, buildRule([new NewVersion('a')])),
      );
      expect(brief(store)).toEqual(['a scored']);
    });
  });

  describe('crashes and other processes', () => {
    it('ends the traces under way before it fails because a later read failed', async () => {
      const store = new MemoryStore();
      const gate = Promise.withResolvers<{ score: number }>();
      const mode = await buildLiveMode(store, buildRule([judged('j', () => gate.promise)]));
      const keys = Array.from({ length: 51 }, newTraceId).map(buildKey);
      store.ingest(keys.map(({ traceId }) => agentSpan(traceId, 'a', { says: 'x' })));
      store.clockMs += QUIET_MS;
      const { spans } = store.stores;
      const read = spans.read.bind(spans);
      spans.read = async (asked) => {
        if (asked.length === 1) {
          throw new StoreUnavailableError('the store is away');
        }
        return read(asked);
      };
      let hasEnded = false;
      const ended = scoreTraces(createTestScoring(store), keys, mode)
        .catch((error: unknown) => error)
        .finally(() => (hasEnded = true));
      await sleep(20);
      expect(hasEnded).toBe(false);
      gate.resolve({ score: 1 });
      expect(await ended).toMatchObject({ code: 'store_unavailable' });
      expect(store.decisions()).toHaveLength(50);
    });

    it('writes the lost decision of a stored score without a second judge call', async () => {
      const store = new MemoryStore();
      const scorer = judged('j');
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = await oneTrace(store);
      store.failing = (what) => what === 'decisions';
      const [broken] = await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(broken?.error?.code).toBe('store_unavailable');
      expect(store.decisions()).toEqual([]);
      store.failing = () => false;
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(brief(store)).toEqual(['j scored']);
      expect(scorer.inputs).toHaveLength(1);
      expect(store.scoreLog).toHaveLength(1);
    });

    it('runs no scorer again whose score is stored, also not a code scorer', async () => {
      const store = new MemoryStore();
      const scorer = new CountingScorer('a');
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = await oneTrace(store);
      store.failing = (what) => what === 'decisions';
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      store.failing = () => false;
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(brief(store)).toEqual(['a scored']);
      expect(scorer.inputs).toHaveLength(1);
    });

    it('runs a scorer once for two rules that want the same score at the same time', async () => {
      const store = new MemoryStore();
      const scorer = judged('j');
      const mode = await buildLiveMode(store, buildRule([scorer]), buildRule([scorer], { name: 's' }));
      const traceId = await oneTrace(store);
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(scorer.inputs).toHaveLength(1);
      expect(store.scoreLog).toHaveLength(1);
      expect(store.decisions().map((row) => [row.rule, row.status])).toEqual([
        ['r', 'scored'],
        ['s', 'scored'],
      ]);
    });

    it('goes on alone when the work with which it shares a scorer is stopped', async () => {
      const store = new MemoryStore();
      const scorer = judged('j', () =>
        scorer.inputs.length === 1 ? new Promise<never>(() => undefined) : { score: 1 },
      );
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = await oneTrace(store);
      const scoring = createTestScoring(store);
      const stopping = new AbortController();
      const stopped = scoreTraces({ ...scoring, signal: stopping.signal }, [buildKey(traceId)], mode);
      await expect.poll(() => scorer.inputs.length).toBe(1);
      const other = scoreTraces(scoring, [buildKey(traceId)], mode);
      await sleep(20);
      expect(scorer.inputs).toHaveLength(1);
      stopping.abort();
      await Promise.all([stopped, other]);
      expect(scorer.inputs).toHaveLength(2);
      expect(store.scores()).toMatchObject([{ score: 1 }]);
    });

    it('keeps the row with the newer evidence, whichever process writes last', async () => {
      const store = new MemoryStore();
      const slow = Promise.withResolvers<{ score: number }>();
      let isFirst = true;
      const scorer = judged('j', () => {
        if (isFirst) {
          isFirst = false;
          return slow.promise;
        }
        return { score: 0.75 };
      });
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = await oneTrace(store);
      const stalled = scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      await expect.poll(() => scorer.inputs.length).toBe(1);
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
      store.clockMs += QUIET_MS;
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      slow.resolve({ score: 0.25 });
      await stalled;
      expect(store.scores()).toMatchObject([{ score: 0.75 }]);
    });

    it('writes nothing for a trace that another process took during the judge call', async () => {
      const store = new MemoryStore();
      let isOurs = true;
      const scorer = judged('j', () => {
        isOurs = false;
        return { score: 1 };
      });
      const mode = await buildLiveMode(store, buildRule([scorer]));
      const traceId = await oneTrace(store);
      const check = async () => {
        if (!isOurs) {
          throw new AppError('not ours', { code: 'cancelled', stage: 'judge', retryable: true });
        }
      };
      const claims = { claim: (key: TraceKey) => ({ ...SOLE_CLAIMS.claim(key), check }) };
      const [outcome] = await scoreTraces({ ...createTestScoring(store), claims }, [buildKey(traceId)], mode);
      expect(outcome?.error?.code).toBe('cancelled');
      expect(store.scoreLog).toEqual([]);
      expect(store.decisionLog).toEqual([]);
    });
  });

  describe('single scores and previews', () => {
    it('scores without storing anything when the mode does not write', async () => {
      const store = new MemoryStore();
      const traceId = await oneTrace(store);
      const rule = prepareRule(buildRule([new CountingScorer('a')]));
      const [outcome] = await scoreTraces(
        createTestScoring(store),
        [buildKey(traceId)],
        apiMode([rule], { write: false }),
      );
      expect(outcome?.scores).toMatchObject([{ score: 1, source: 'api', stratum: 'none', weight: null }]);
      expect(outcome?.decisions).toMatchObject([{ status: 'scored' }]);
      expect([store.scoreLog, store.decisionLog]).toEqual([[], []]);
    });

    it.each([
      ['live scoring', 'live', 'uniform', 1],
      ['a backfill', 'backfill', 'backfill', 1],
    ] as const)(
      'takes the place of a score that %s gave, and stays of the sample that it was of',
      async (_who, source, stratum, weight) => {
        const store = new MemoryStore();
        const scorer = judged('j', () => ({ score: scorer.inputs.length / 10 }));
        const rule = buildRule([scorer]);
        const live = await buildLiveMode(store, rule);
        const traceId = await oneTrace(store);
        const scoring = createTestScoring(store);
        const first = source === 'live' ? live : backfillMode([prepareRule(rule)]);
        await scoreTraces(scoring, [buildKey(traceId)], first);
        const asked = apiMode([prepareRule(rule)], { write: true });
        const [outcome] = await scoreTraces(scoring, [buildKey(traceId)], asked);
        const current = { score: 0.2, source, stratum, weight, inclusionProbability: 1 };
        expect(outcome?.scores).toMatchObject([current]);
        expect(store.scores()).toMatchObject([current]);
        expect(store.decisions()).toMatchObject([{ status: 'scored', stratum, weight, attempts: 2 }]);
      },
    );

    it('belongs to no sample when it is the first score of its trace', async () => {
      const store = new MemoryStore();
      const traceId = await oneTrace(store);
      const asked = apiMode([prepareRule(buildRule([new CountingScorer('a')]))], { write: true });
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], asked);
      expect(store.scores()).toMatchObject([{ source: 'api', stratum: 'none', weight: null }]);
      expect(store.decisions()).toMatchObject([{ stratum: 'none', weight: null }]);
    });

    it('shows the traces that a rule would select in a preview', async () => {
      const store = new MemoryStore();
      const traceId = await oneTrace(store);
      const rule = prepareRule(buildRule([new CountingScorer('a')], { where: { service: ['shop'] } }));
      const [outcome] = await scoreTraces(createTestScoring(store), [buildKey(traceId)], previewMode([rule]));
      expect(outcome?.decisions).toMatchObject([{ status: 'filtered' }]);
      expect(store.decisionLog).toEqual([]);
    });

    it('returns different outcomes for an unknown trace and one without agents', async () => {
      const store = new MemoryStore();
      const rule = prepareRule(buildRule([new CountingScorer('a')]));
      const [outcome] = await scoreTraces(
        createTestScoring(store),
        [buildKey(newTraceId())],
        apiMode([rule], { write: false }),
      );
      expect(outcome).toMatchObject({ activity: null, decisions: [], scores: [] });
    });
  });
});

describe('model calls', () => {
  const QUIET_MS = 60_000;
  const say = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
  const AGENT = buildSpan(
    'agent',
    {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'weather',
      'gen_ai.input.messages': [say('user', 'Does it rain?')],
      'gen_ai.output.messages': [say('assistant', 'It rains.')],
    },
    { lasts: 5_000 },
  );
  const KEY = { tenant: '', traceId: AGENT.traceId };

  function chat(id: string, at: number, answer: string): Span {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.input.messages': [say('user', 'Does it rain?')],
      'gen_ai.output.messages': answer === '' ? [] : [say('assistant', answer)],
    };
    return buildSpan(id, attributes, { parent: 'agent', at });
  }

  async function world(...rules: Parameters<typeof buildRule>[1][]) {
    const store = new MemoryStore();
    const scorer = new CountingScorer('a');
    const mode = await buildLiveMode(store, ...rules.map((parts) => buildRule([scorer], parts)));
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    return {
      store,
      scorer,
      score: async (...spans: Span[]) => {
        store.ingest(spans);
        store.clockMs += QUIET_MS;
        return scoreTraces(scoring, [KEY], mode);
      },
    };
  }

  function decided(store: MemoryStore) {
    return store
      .decisions()
      .map(({ target, targetId, scorer, status, reason }) =>
        [target, targetId.slice(32), scorer, status, reason.split(':')[0]].filter(Boolean).join(' '),
      );
  }

  describe('a rule on model calls', () => {
    it('scores each call by itself, under the id of its span', async () => {
      const { store, scorer, score } = await world({ target: 'model-call' });
      await score(AGENT, chat('one', 1, 'Let me see.'), chat('two', 50, 'It rains.'), chat('none', 90, ''));
      const [one, two, none] = ['one', 'two', 'none'].map((id) => `/${computeSpanId(id)}`);
      expect(decided(store)).toEqual([
        `model-call ${none} * not_applicable run_incomplete`,
        `model-call ${one} a scored`,
        `model-call ${two} a scored`,
      ]);
      expect(store.scores()).toMatchObject([
        { target: 'model-call', spanId: computeSpanId('one'), model: 'm', agent: 'weather' },
        { target: 'model-call', spanId: computeSpanId('two'), model: 'm', agent: 'weather' },
      ]);
      expect(scorer.inputs.map((input) => input['targetSpanId'])).toEqual(['one', 'two'].map(computeSpanId));
      expect(store.runs().map((run) => `${run.target} ${run.targetId.slice(32)}`)).toEqual([
        'trace ',
        `model-call ${one}`,
        `model-call ${two}`,
        `model-call ${none}`,
      ]);
    });

    it('scores an added call and no earlier one when late spans come', async () => {
      const { store, scorer, score } = await world({ target: 'model-call' });
      await score(AGENT, chat('one', 1, 'Let me see.'));
      await score(chat('two', 50, 'It rains.'));
      expect(scorer.inputs.map((input) => input['targetSpanId'])).toEqual(['one', 'two'].map(computeSpanId));
      expect(store.decisions().map((row) => row.status)).toEqual(['scored', 'scored']);
    });

    it('shares its trace, and the number by which traces are sampled, with rules on other targets', async () => {
      const { store, score } = await world({ name: 'whole' }, { name: 'calls', target: 'model-call' });
      await score(AGENT, chat('one', 1, 'It rains.'));
      expect(decided(store)).toEqual(['trace a scored', `model-call /${computeSpanId('one')} a scored`]);
      const sampled = await world(
        { name: 'whole', sample: { rate: 0, always: [] } },
        { name: 'calls', target: 'model-call', sample: { rate: 0, always: [] } },
      );
      await sampled.score(AGENT, chat('one', 1, 'It rains.'));
      expect(decided(sampled.store)).toEqual([
        'trace * sampled_out sampled_out',
        'model-call * sampled_out sampled_out',
      ]);
    });

    it('scores the first calls of a trace up to the limit, and says how many there are', async () => {
      const { store, scorer, score } = await world({ target: 'model-call' });
      const many = Array.from({ length: MAX_MODEL_CALLS + 7 }, (_, at) =>
        chat(`n${at}`, at, `Answer ${at}.`),
      );
      await score(AGENT, ...many);
      expect(scorer.inputs).toHaveLength(MAX_MODEL_CALLS);
      const rest = store.decisions().filter((row) => row.status !== 'scored');
      expect(rest).toMatchObject([
        {
          targetId: KEY.traceId,
          status: 'not_applicable',
          reason: 'too_many_calls: the trace has 107 model calls; the first 100 are scored',
        },
      ]);
      await score(chat('late', 400, 'More.'));
      expect(scorer.inputs).toHaveLength(MAX_MODEL_CALLS);
      expect(store.decisions().filter((row) => row.status !== 'scored')).toMatchObject([
        { targetId: KEY.traceId, reason: expect.stringContaining('108 model calls') as string },
      ]);
      const [again] = await score();
      expect(again?.decisions).toEqual([]);
    });

    it.each(['agent', 'trace'] as const)(
      'counts the targets beyond the limit of a rule on %ss',
      async (target) => {
        const { store, scorer, score } = await world({ target });
        const agent = (id: string, at: number) => ({
          ...AGENT,
          spanId: computeSpanId(id),
          parentSpanId: target === 'agent' ? AGENT.spanId : '',
          startUnixNano: AGENT.startUnixNano + BigInt(at),
          attributes: new Map([...AGENT.attributes, ['gen_ai.agent.name', id]]),
        });
        const ids = Array.from({ length: MAX_TARGETS + 4 }, (_, at) => `n${at}`);
        await score(...(target === 'agent' ? [AGENT] : []), ...ids.map(agent));
        expect(scorer.inputs).toHaveLength(MAX_TARGETS);
        const listRest = () => store.decisions().filter((row) => row.status !== 'scored');
        const what = target === 'agent' ? 'called agents' : 'runs';
        const rest = {
          targetId: target === 'agent' ? KEY.traceId : `${KEY.traceId}/200`,
          scorer: '*',
          status: 'not_applicable',
          reason: `too_many_targets: the trace has 204 ${what}; the first 200 are scored`,
        };
        expect(listRest()).toMatchObject([rest]);
        await score(agent('late', 999));
        expect(scorer.inputs).toHaveLength(MAX_TARGETS);
        expect(listRest()).toMatchObject([{ ...rest, reason: rest.reason.replace('204', '205') }]);
        const [again] = await score();
        expect(again?.decisions).toEqual([]);
      },
    );

    it('says of a trace without a model call that there is none', async () => {
      const { store, score } = await world({ target: 'model-call' });
      await score(AGENT);
      expect(store.decisions()).toMatchObject([
        { status: 'not_applicable', reason: expect.stringContaining('no model call') as string },
      ]);
    });
  });
});

describe('waiting runs', () => {
  const QUIET_MS = 60_000;

  it('a run that waits has no score, and is scored when the rest comes in its trace', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')], {}));
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const question = chatMessage('user', 'Refund order 7.');
    const asks = [chatMessage('assistant', toolCall('c1', 'refund', { order: 7 }))];
    const run = buildSpan('run', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shop' });
    const key = { tenant: '', traceId: run.traceId };
    const send = async (...spans: (typeof run)[]) => {
      store.ingest(spans);
      store.clockMs += QUIET_MS;
      await scoreTraces(scoring, [key], mode);
      return store.decisions().map(({ status, reason }) => `${status} ${reason.split(':')[0]}`.trim());
    };
    expect(
      await send(run, chatSpan('c1', { input: [question], output: asks }, { parent: 'run', at: 1 })),
    ).toEqual(['not_applicable run_waiting']);
    expect(store.scores()).toEqual([]);
    const tool = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'refund',
      'gen_ai.tool.call.id': 'c1',
    };
    const later = await send(
      buildSpan('t1', { ...tool, 'gen_ai.tool.call.result': 'done' }, { parent: 'run', at: 200 }),
      chatSpan('c2', { output: [chatMessage('assistant', 'Refunded.')] }, { parent: 'run', at: 300 }),
    );
    expect(later).toContain('scored');
    expect(store.scores()).toHaveLength(1);
  });

  it('a score of an answer that was cut at the output limit says so in its reason', async () => {
    const store = new MemoryStore();
    const scorer = new CountingScorer('a', () => ({ score: 1, reason: 'It is good.' }));
    const mode = await buildLiveMode(store, buildRule([scorer], {}));
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const said = { role: 'assistant', parts: [{ type: 'text', content: 'It rai' }], finish_reason: 'length' };
    const span = chatSpan('say', { input: [chatMessage('user', 'Weather?')], output: [said] });
    store.ingest([span]);
    store.clockMs += QUIET_MS;
    await scoreTraces(scoring, [{ tenant: '', traceId: span.traceId }], mode);
    expect(store.scores().map(({ reason }) => reason)).toEqual([
      "It is good. (the answer was cut at the model's output limit)",
    ]);
  });

  it('a run that failed before its answer has the measures of what it did, and no score of an answer', async () => {
    const store = new MemoryStore();
    const rule = buildRule([createBehaviourScorer(), new CountingScorer('a')]);
    const mode = await buildLiveMode(store, {
      ...rule,
      scorers: rule.scorers.map((bound) => ({ ...bound, readsPast: bound.name === 'behaviour' })),
    });
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const asked = { input: [chatMessage('user', 'Weather?')] };
    const failed = chatSpan('say', asked, { error: 'HTTP 500' });
    const score = async () => {
      store.clockMs += QUIET_MS;
      await scoreTraces(scoring, [{ tenant: '', traceId: failed.traceId }], mode);
      return store.decisions().map((row) => `${row.scorer} ${row.status} ${row.reason.split(':')[0]}`.trim());
    };
    store.ingest([failed]);
    expect(await score()).toEqual(['behaviour scored', 'a not_applicable run_errored_before_output']);
    const answered = () => store.scores().find(({ scorer }) => scorer === 'behaviour-answered');
    expect(answered()).toMatchObject({ score: 0, reason: 'none' });
    expect(store.scores().filter(({ scorer }) => scorer === 'a')).toEqual([]);

    const output = [chatMessage('assistant', 'It rains.')];
    store.ingest([chatSpan('again', { ...asked, output }, { at: 5_000 })]);
    expect((await score()).toSorted()).toEqual(['a scored', 'behaviour scored']);
    expect(answered()).toMatchObject({ score: 1 });
  });
});
