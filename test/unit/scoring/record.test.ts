import { describe, expect, it } from 'vitest';
import type { MessagePart } from '../../../src/domain/trace/messages.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { backfillMode } from '../../../src/scoring/scoring-mode.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { prepareRule } from '../../../src/scoring/select/rule.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { buildPieces, createJoiningScoring } from '../../support/builders/pieces.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  CountingScorer,
  createTestScoring,
  newTraceId,
  readTestTrace,
} from '../../support/scoring/scoring-world.ts';
import { joinPostedScore } from '../../../src/scoring/record/record-runs.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildScore } from '../../support/store/store-rows.ts';

const QUIET_MS = 60_000;
const SCORED = buildRule([new CountingScorer('a')]);
const SAMPLED_OUT = buildRule([new CountingScorer('a')], { sample: { rate: 0, always: [] } });

function buildKey(traceId: string) {
  return { tenant: '', traceId };
}

function arrive(store: MemoryStore, ...spans: ReturnType<typeof agentSpan>[]) {
  store.ingest(spans);
  store.clockMs += QUIET_MS;
}

/** Reads traces as the test reader does, with other facts of their runs. */
function readWith(parts: Partial<AgentRun>) {
  return (data: Parameters<typeof readTestTrace>[0]) => {
    const reading = readTestTrace(data);
    return { ...reading, runs: reading.runs.map((run) => ({ ...run, ...parts })) };
  };
}

describe('the rows of runs', () => {
  it('have the facts of a run that was read', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const traceId = newTraceId();
    arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
    const readTrace = readWith({
      sessionId: 's',
      userId: 'u',
      models: ['gpt-5-mini-2025-08-07'],
      usage: {
        inputTokens: 1_000,
        outputTokens: 100,
        totalTokens: 1_100,
        reasoningTokens: null,
        cachedInputTokens: 400,
        cacheWriteTokens: null,
      },
      startedAt: '2026-11-21T12:00:00.000Z',
      endedAt: '2026-11-21T12:00:02.500Z',
      status: 'error',
      error: { type: 'Timeout', message: 'too slow' },
    });
    await scoreTraces(createTestScoring(store, {}, { readTrace }), [buildKey(traceId)], mode);
    expect(store.runs()).toEqual([
      {
        tenant: '',
        traceId,
        spanId: 'a000000000000000',
        target: 'trace',
        targetId: traceId,
        sessionId: 's',
        userId: 'u',
        serviceName: 'weather',
        serviceVersion: '',
        agent: 'tester',
        agentVersion: '1.2.0',
        environment: '',
        models: ['gpt-5-mini-2025-08-07'],
        inputTokens: 1_000,
        outputTokens: 100,
        totalTokens: 1_100,
        reasoningTokens: null,
        cachedInputTokens: 400,
        cacheWriteTokens: null,
        costUsd: expect.closeTo((600 * 0.25 + 400 * 0.025 + 100 * 2) / 1e6, 12) as number,
        startedAt: Date.UTC(2026, 10, 21, 12),
        durationMs: 2_500,
        status: 'error',
        errorType: 'Timeout',
        toolCalls: 0,
        toolErrors: 0,
        tools: [],
        turns: 1,
        notScorable: '',
        facets: [],
        question: '',
        answer: 'Rain.',
        readFrom: 'content',
        completeness: 'complete',
        evidenceUntil: store.clockMs - QUIET_MS,
        isDeleted: false,
      },
    ]);
  });

  it('have the question and the answer in one line each, and the names of the called tools', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const traceId = newTraceId();
    arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
    const says = (role: 'user' | 'assistant', ...parts: MessagePart[]) => ({
      id: '',
      role,
      createdAt: new Date(0),
      content: { format: 2 as const, parts },
    });
    const call = (toolName: string): MessagePart => ({
      type: 'tool-invocation',
      toolInvocation: { toolCallId: toolName, toolName, args: {}, state: 'result' },
    });
    const input = {
      inputMessages: [says('user', { type: 'text', text: '  Umbrella \n in\tLisbon? ' })],
      rememberedMessages: [],
      systemMessages: [],
      taggedSystemMessages: {},
    };
    const output = [
      says('assistant', call('search'), call('search'), call('weather')),
      says('assistant', { type: 'text', text: `Yes. ${'🌧'.repeat(600)}` }),
      says('assistant', { type: 'text', text: ' ' }),
    ];
    const readTrace = readWith({ input, output });
    await scoreTraces(createTestScoring(store, {}, { readTrace }), [buildKey(traceId)], mode);

    const [run] = store.runs();
    expect(run).toMatchObject({
      question: 'Umbrella in Lisbon?',
      tools: ['search', 'weather'],
      toolCalls: 3,
    });
    expect(run?.answer).toMatch(/^Yes\. (?:🌧){247}…$/u);
  });

  it('have no cost when the price is unknown, or when models with other prices answered too', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const usage = {
      inputTokens: 10,
      outputTokens: 1,
      totalTokens: 11,
      reasoningTokens: null,
      cachedInputTokens: null,
      cacheWriteTokens: null,
    };
    const costs: (number | null)[] = [];
    const prices = {
      'a/one': { input: 1, output: 1 },
      'b/two': { input: 2, output: 2 },
      'c/two': { input: 2, output: 2 },
    };
    for (const models of [['one'], ['two'], ['one', 'two'], ['who'], ['one', 'who'], []]) {
      const traceId = newTraceId();
      arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
      const readTrace = readWith({ models, usage });
      await scoreTraces(createTestScoring(store, {}, { readTrace, prices }), [buildKey(traceId)], mode);
      costs.push(store.runs().find((run) => run.traceId === traceId)!.costUsd);
    }
    expect(costs).toEqual([11e-6, 22e-6, null, null, null, null]);
  });

  it('stand on facts alone when no rule reads the trace, with one query for all traces', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SAMPLED_OUT);
    const ids = [newTraceId(), newTraceId()];
    const attributes = { 'user.id': 'u', 'gen_ai.conversation.id': 's', 'gen_ai.request.model': 'm' };
    ids.forEach((id) => store.ingest([agentSpan(id, 'a', { says: 'Rain.', attributes })]));
    store.clockMs += QUIET_MS;
    let queries = 0;
    const { spans } = store.stores;
    const counted = {
      ...spans,
      facts: (...query: Parameters<typeof spans.facts>) => ((queries += 1), spans.facts(...query)),
    };
    const scoring = createTestScoring(store, {}, { stores: { ...store.stores, spans: counted } });
    await scoreTraces(scoring, ids.map(buildKey), mode);
    expect(store.reads).toEqual([]);
    expect(queries).toBe(1);
    const facts = {
      readFrom: 'facts',
      sessionId: 's',
      userId: 'u',
      models: ['m'],
      inputTokens: null,
      status: '',
      turns: null,
    };
    expect(store.runs()).toMatchObject(ids.map((traceId) => ({ traceId, targetId: traceId, ...facts })));
  });

  it('are written before the decisions, so that a decided trace has its runs', async () => {
    for (const rule of [SCORED, SAMPLED_OUT]) {
      const store = new MemoryStore();
      const mode = await buildLiveMode(store, rule);
      const traceId = newTraceId();
      arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
      store.failing = (what) => what === 'runs';
      const [outcome] = await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect(outcome?.error?.code).toBe('store_unavailable');
      expect(store.decisions()).toEqual([]);
      store.failing = () => false;
      await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
      expect([store.decisions().length, store.runs().length]).toEqual([1, 1]);
    }
  });

  it('do not stop the decision of a trace whose row the store refuses', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const traceId = newTraceId();
    arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
    const refused = new AppError('no', { code: 'store_rejected', stage: 'store', retryable: false });
    const runs = { ...store.stores.runs, write: () => Promise.reject(refused) };
    await scoreTraces(
      createTestScoring(store, {}, { stores: { ...store.stores, runs } }),
      [buildKey(traceId)],
      mode,
    );
    expect(store.decisions()).toMatchObject([{ status: 'scored' }]);
  });

  it('go when later spans join two runs', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const traceId = newTraceId();
    const scoring = createTestScoring(store);
    // Two roots are two runs; a reader that knows the late span joins them.
    arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }), agentSpan(traceId, 'b', { says: 'Sun.' }));
    await scoreTraces(scoring, [buildKey(traceId)], mode);
    expect(store.runs().map((run) => run.targetId)).toEqual([traceId, `${traceId}/1`]);
    arrive(store, agentSpan(traceId, 'c', { parent: 'a', says: 'Wind.' }));
    const joined = createTestScoring(
      store,
      {},
      {
        readTrace: (data) => {
          const reading = readTestTrace(data);
          return { ...reading, runs: reading.runs.slice(0, 1) };
        },
      },
    );
    await scoreTraces(joined, [buildKey(traceId)], mode);
    expect(store.runs().map((run) => run.targetId)).toEqual([traceId]);
    expect(store.runs()[0]?.evidenceUntil).toBe(store.clockMs - QUIET_MS);
  });

  it('are not written again for the same evidence, by a retry or by a backfill', async () => {
    const store = new MemoryStore();
    let fails = true;
    const scorer = new CountingScorer('a', () => {
      if (fails) {
        throw new AppError('busy', { code: 'judge_rate_limited', stage: 'judge', retryable: true });
      }
      return { score: 1 };
    });
    const mode = await buildLiveMode(store, buildRule([scorer]));
    const traceId = newTraceId();
    arrive(store, agentSpan(traceId, 'a', { says: 'Rain.' }));
    await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
    fails = false;
    store.clockMs += 3_600_000;
    await scoreTraces(createTestScoring(store), [buildKey(traceId)], mode);
    const backfill = backfillMode([prepareRule({ ...SAMPLED_OUT, name: 'backfill:b' })]);
    await scoreTraces(createTestScoring(store), [buildKey(traceId)], backfill);
    expect(store.decisions().map((row) => row.status)).toEqual(['scored', 'sampled_out']);
    expect(store.runLog).toHaveLength(1);
  });

  it('stand for a joined run once, under the trace that owns it', async () => {
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, SCORED);
    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const { asks, tool, answers } = buildPieces('Does it rain?');
    const keys = [asks, tool, answers].map(({ traceId }) => buildKey(traceId));
    arrive(store, asks);
    await scoreTraces(scoring, keys.slice(0, 1), mode);
    arrive(store, answers);
    await scoreTraces(scoring, [buildKey(answers.traceId)], mode);
    arrive(store, tool);
    await scoreTraces(scoring, keys, mode);
    expect(store.runs()).toMatchObject([
      { traceId: asks.traceId, inputTokens: 20, outputTokens: 4, toolCalls: 1, toolErrors: 0 },
    ]);
  });
});

const SESSION = { tenant: 'a', sessionId: 'chat' } as const;

const SCORE = buildScore({
  ...SESSION,
  traceId: '',
  spanId: '',
  target: 'session',
  targetId: 'chat',
  agent: '',
  scoredBy: 'ann',
  completeness: 'partial',
});

const TURNS = [
  buildRunRecord({ ...SESSION, startedAt: 2_000, agent: 'second', userId: 'eve', models: [] }),
  buildRunRecord({ ...SESSION, startedAt: 1_000, agent: 'first', models: ['old'] }),
  buildRunRecord({
    ...SESSION,
    startedAt: 3_000,
    agent: 'empty',
    userId: '',
    models: ['new'],
    notScorable: 'x',
  }),
];

it('a score of a session has the facts of its newest turn that can be scored', () => {
  expect(joinPostedScore(SCORE, TURNS)).toMatchObject({
    target: 'session',
    targetId: 'chat',
    traceId: '',
    spanId: '',
    agent: 'second',
    userId: 'eve',
    model: 'new',
    traceTimestamp: 1_000,
    completeness: 'complete',
  });
});

it('the record of the session itself counts more than its turns', () => {
  const record = buildRunRecord({ ...SESSION, traceId: '', spanId: '', target: 'session', targetId: 'chat' });
  expect(joinPostedScore(SCORE, [...TURNS, record])).toMatchObject({ agent: 'weather-agent', spanId: '' });
});

it('turns of another session or tenant, agents in a turn and deleted turns do not count', () => {
  const other = [{ sessionId: 'chat 2' }, { tenant: 'b' }, { target: 'agent' }, { isDeleted: true }] as const;
  const records = other.map((fields) => buildRunRecord({ ...SESSION, ...fields }));
  expect(joinPostedScore(SCORE, records)).toBeUndefined();
});
