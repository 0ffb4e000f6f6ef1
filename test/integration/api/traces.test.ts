import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { agentRunSpans, store } from '../../support/store/stored-agent.ts';
import { buildDecision, buildScore, buildSpan, newTraceId } from '../../support/store/store-rows.ts';

const START_MS = Date.UTC(2026, 0, 1);

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi();
});
afterAll(() => api.stop());

const runAt = (minute: number, more: Partial<RunRecord> = {}) =>
  buildRunRecord({ startedAt: START_MS + minute * 60_000, ...more });

const idsOf = (items: readonly Record<string, unknown>[]) => items.map(({ traceId }) => String(traceId));

describe('the list of traces', () => {
  test('shows facts, scores and the state of each trace', async () => {
    const serviceName = 'states';
    const [scored, partly, left] = [
      runAt(3, { serviceName }),
      runAt(2, { serviceName }),
      runAt(1, { serviceName }),
    ];
    await api.store.runs.write([scored, partly, left]);
    await api.store.scores.write(
      [scored, partly].map(({ traceId }) => buildScore({ traceId, score: 0.5, label: 'fair' })),
    );
    await api.store.decisions.write([
      buildDecision({ traceId: scored.traceId }),
      buildDecision({ traceId: scored.traceId, scorer: 'tone', status: 'not_applicable' }),
      buildDecision({ traceId: partly.traceId }),
      buildDecision({ traceId: partly.traceId, scorer: 'tone', status: 'failed' }),
      buildDecision({ traceId: left.traceId, scorer: '*', status: 'sampled_out' }),
    ]);
    const { body } = await api.ask(`traces?service=${serviceName}`);
    expect(body.items).toMatchObject([
      {
        traceId: scored.traceId,
        state: 'scored',
        agent: 'weather-agent',
        service: serviceName,
        startedAt: new Date(scored.startedAt).toISOString(),
        durationMs: 1_500.5,
        status: 'ok',
        models: ['gpt-5-mini', 'gpt-5'],
        usage: { inputTokens: 193, outputTokens: 31, totalTokens: 224 },
        scores: [{ scorer: 'keyword-coverage', score: 0.5, label: 'fair' }],
        decisions: { scored: 1, not_applicable: 1 },
      },
      { traceId: partly.traceId, state: 'partly' },
      { traceId: left.traceId, state: 'not_scored', scores: [] },
    ]);
  });

  test('filters by facets of the run, by decisions and by scores', async () => {
    const serviceName = 'filtered';
    const one = runAt(1, { serviceName, agent: 'writer', models: ['m-1', 'm-2'], sessionId: 's-1' });
    const two = runAt(2, { serviceName, agent: 'reader', environment: 'test', userId: 'u-2' });
    await api.store.runs.write([one, two]);
    await api.store.scores.write([
      buildScore({ traceId: one.traceId, traceTimestamp: one.startedAt, score: 0.2 }),
      buildScore({ traceId: two.traceId, traceTimestamp: two.startedAt, score: 0.8 }),
    ]);
    await api.store.decisions.write([
      buildDecision({ traceId: two.traceId, rule: 'strict', status: 'failed', reason: 'refused: x' }),
    ]);
    const listed = async (query: string) =>
      idsOf((await api.ask(`traces?service=${serviceName}&${query}`)).body.items);
    expect(await listed('agent=writer')).toEqual([one.traceId]);
    expect(await listed('agent=writer&agent=reader')).toEqual([two.traceId, one.traceId]);
    expect(await listed('model=m-2')).toEqual([one.traceId]);
    expect(await listed('sessionId=s-1')).toEqual([one.traceId]);
    expect(await listed('userId=u-2')).toEqual([two.traceId]);
    expect(await listed('environment=test')).toEqual([two.traceId]);
    expect(await listed('status=failed&reason=refused')).toEqual([two.traceId]);
    expect(await listed('scorer=keyword-coverage&max=0.5')).toEqual([one.traceId]);
    expect(await listed('since=2026-01-01T00:02:00Z')).toEqual([two.traceId]);
    expect(await listed('until=2026-01-01T00:02:00Z')).toEqual([one.traceId]);
  });

  test('has a trace of an agent that waits in its place; not one without an agent, and not a part of another run', async () => {
    const nowMs = Date.now();
    const [waiting, piece] = [newTraceId(), newTraceId()];
    const older = buildRunRecord({ startedAt: nowMs - 90_000 });
    const newer = buildRunRecord({ startedAt: nowMs - 10_000 });
    await store(api.store, agentRunSpans(waiting, nowMs - 60_000));
    await store(api.store, agentRunSpans(piece, nowMs - 60_000));
    await store(api.store, [buildSpan({ attributes: new Map(), scopeName: 'http' })]);
    await api.store.runs.write([older, newer]);
    await api.store.decisions.write([
      buildDecision({
        traceId: piece,
        status: 'not_applicable',
        reason: 'part_of_run',
        evidenceUntil: nowMs + 5_000,
      }),
    ]);
    const seen = await api.readAll('traces?since=5m&limit=1');
    expect(idsOf(seen)).toEqual([newer.traceId, waiting, older.traceId]);
    expect(seen[1]).toMatchObject({ state: 'waiting', agent: null, scores: [] });
  });

  test('in the order of arrival has traces without an agent too, with what their spans say', async () => {
    const [older, newer] = [newTraceId(), newTraceId()];
    await store(api.store, agentRunSpans(older, Date.now() - 60_000));
    const plain = { attributes: new Map(), scopeName: 'http', serviceName: 'proxy' };
    await store(api.store, [buildSpan({ ...plain, traceId: newer })]);
    const { body } = await api.ask('traces?order=arrived&limit=2');
    expect(body).toMatchObject({
      items: [
        { traceId: newer, state: 'not_scored', agentSeen: false, services: ['proxy'], spanCount: 1 },
        { traceId: older, state: 'waiting', agentSeen: true, services: ['weather'] },
      ],
      next: null,
    });
    const refused = await api.ask('traces?order=arrived&agent=weather-agent');
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^agent: order=arrived takes/u) as string },
    });
    expect((await api.ask('traces?order=arrived&service=proxy&service=shop')).status).toBe(400);
  });
});

describe('one trace', () => {
  test('has its reading, its spans with the kinds of their steps, its scores and its decisions', async () => {
    const trace = new AgentTraceBuilder().with({
      name: 'get_weather',
      args: { city: 'Paris' },
      result: 'sunny',
    });
    const { spans } = decodeOtlpJson(trace.request());
    const { traceId } = trace;
    await store(api.store, spans);
    await api.store.scores.write([buildScore({ traceId })]);
    await api.store.decisions.write([buildDecision({ traceId })]);
    const { status, body } = await api.ask(`traces/${traceId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      traceId,
      state: 'scored',
      reading: { traceId, runs: [{ scorable: true, conventions: ['otel-genai'] }], truncated: false },
      scores: [{ traceId, scorer: 'keyword-coverage' }],
      decisions: [{ traceId, status: 'scored', rule: 'default' }],
      joinedWith: [],
    });
    const steps = body['spans'] as { kind: string; spanId: string; parentSpanId: string }[];
    expect([...new Set(steps.map(({ kind }) => kind))].toSorted()).toEqual(['agent', 'model', 'tool']);
    expect(steps.map(({ spanId }) => spanId).toSorted()).toEqual(
      spans.map(({ spanId }) => spanId).toSorted(),
    );
  });

  test('cuts big texts, and gives them whole with the span', async () => {
    const traceId = newTraceId();
    const long = 'x'.repeat(100_000);
    const span = buildSpan({
      traceId,
      attributes: new Map([
        ['gen_ai.operation.name', 'invoke_agent'],
        ['note', long],
      ]),
    });
    await store(api.store, [span]);
    const { body } = await api.ask(`traces/${traceId}`);
    const [cut] = body['spans'] as { attributes: Record<string, string>; truncated: boolean }[];
    expect(cut?.truncated).toBe(true);
    expect(cut?.attributes['note']?.length).toBeLessThan(20_000);
    const whole = await api.ask(`traces/${traceId}/spans/${span.spanId}`);
    expect(whole.body).toMatchObject({
      spanId: span.spanId,
      kind: 'agent',
      attributes: { note: long },
      truncated: false,
    });
  });

  test('of several tenants is told apart by the tenant that the request names', async () => {
    const traceId = newTraceId();
    const span = buildSpan({ traceId });
    const paths = [`traces/${traceId}`, `traces/${traceId}/spans/${span.spanId}`];
    await store(api.store, [span], 'a');
    await api.store.runs.write([runAt(1, { traceId, targetId: traceId })]);
    for (const path of paths) {
      expect(await api.ask(path)).toMatchObject({
        status: 400,
        body: {
          detail: `several tenants have the trace ${traceId}: "", "a"; name one (--tenant, or the parameter tenant)`,
        },
      });
      expect((await api.ask(`${path}?tenant=a`)).status).toBe(200);
      expect((await api.ask(`${path}?tenant=b`)).status).toBe(404);
    }
    expect((await api.ask(`traces/${traceId}?tenant=`)).body).toMatchObject({ tenant: '', spans: [] });
    expect((await api.ask(`traces/${traceId}?tenant=a`)).body).toMatchObject({
      tenant: 'a',
      spans: [{ spanId: span.spanId }],
    });
  });

  test('is found by its scores when its spans are not stored any more', async () => {
    const score = buildScore();
    await api.store.scores.write([score]);
    const { status, body } = await api.ask(`traces/${score.traceId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ reading: null, spans: [], scores: [{ scoreId: score.scoreId }] });
  });

  test('is a 404 while only a posted score names it: it is not in the list either', async () => {
    const posted = buildScore({ source: 'human', scoredBy: 'ann' });
    await api.store.scores.write([posted]);
    const { status, body } = await api.ask(`traces/${posted.traceId}`);
    expect({ status, detail: body.detail }).toEqual({
      status: 404,
      detail: expect.stringContaining(`scores?traceId=${posted.traceId}`) as string,
    });
    expect((await api.ask(`traces?traceId=${posted.traceId}`)).body.items).toEqual([]);
    await store(api.store, [buildSpan({ traceId: posted.traceId })]);
    expect((await api.ask(`traces/${posted.traceId}`)).body).toMatchObject({
      scores: [{ scoreId: posted.scoreId }],
    });
  });

  test.each([
    [`traces/${'a'.repeat(32)}`, 404],
    [`traces/${'a'.repeat(32)}/spans/${'b'.repeat(16)}`, 404],
    ['traces/xyz', 400],
    [`traces/${'a'.repeat(32)}/spans/1`, 400],
  ])('%s is a %i', async (path, status) => {
    expect((await api.ask(path)).status).toBe(status);
  });
});
