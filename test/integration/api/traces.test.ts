import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { runCommand } from '../../support/store/clickhouse-query.ts';
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
  buildRunRecord({
    startedAt: START_MS + minute * 60_000,
    evidenceUntil: Date.now(),
    question: 'Do I need an umbrella?',
    answer: 'The sky is sunny.',
    ...more,
  });

const buildKeyOf = ({ traceId, startedAt }: RunRecord) => ({
  traceId,
  targetId: traceId,
  traceTimestamp: startedAt,
});

const idsOf = (items: readonly Record<string, unknown>[]) => items.map(({ traceId }) => String(traceId));

/** Sums a number of buckets. */
const sumOf = (buckets: unknown, name: string): number =>
  (buckets as Record<string, number>[]).reduce((sum, bucket) => sum + (bucket[name] ?? 0), 0);

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

  test('has question, answer, the worst bad verdict, and why scorers gave no score', async () => {
    const serviceName = 'texts';
    const [told, empty] = [runAt(2, { serviceName }), runAt(1, { serviceName, question: '', answer: '' })];
    await api.store.runs.write([told, empty]);
    const verdict = (statement: string, word: string) => ({ statement, verdict: word });
    const scale = { higherIsBetter: true, scoreMin: 0, scoreMax: 1, ...buildKeyOf(told) };
    await api.store.scores.write([
      buildScore({ ...scale, scorer: 'tone', score: 0.5, verdicts: [verdict('It is rude.', 'toxic')] }),
      buildScore({
        ...scale,
        scorer: 'faithfulness',
        score: 0.3,
        verdicts: [
          verdict('A.', 'supported'),
          verdict('B.', 'unsupported'),
          { ...verdict('C.', 'contradicted'), quote: 'not C' },
        ],
      }),
      buildScore({ ...scale, scorer: 'recall', score: 0, verdicts: [verdict('D.', 'yes')] }),
    ]);
    const decided = (scorer: string, status: 'scored' | 'failed', more: object = {}) =>
      buildDecision({ traceId: told.traceId, scorer, status, ...more });
    await api.store.decisions.write([
      decided('tone', 'scored'),
      decided('tone', 'failed', { rule: 'second', reason: 'timeout: 30 s' }),
      decided('bias', 'failed', { reason: 'timeout: 30 s' }),
    ]);

    const { body } = await api.ask(`traces?service=${serviceName}`);

    expect(body.items).toMatchObject([
      {
        question: 'Do I need an umbrella?',
        answer: 'The sky is sunny.',
        finding: { scorer: 'faithfulness', verdict: 'contradicted', claim: 'C.', quote: 'not C' },
        notScored: [{ scorer: 'bias', reason: 'timeout: 30 s' }],
      },
      { question: null, answer: null, finding: null, notScored: [] },
    ]);
  });

  test('has no texts any more once the spans have expired, whenever the run was written', async () => {
    const serviceName = 'expired';
    const run = runAt(1, { serviceName, evidenceUntil: Date.now() - 31 * 24 * 3_600_000 });
    await api.store.runs.write([run]);
    for (const table of ['runs', 'run_starts']) {
      await runCommand(api.base.options, `OPTIMIZE TABLE ${table} FINAL`);
    }
    const { body } = await api.ask(`traces?service=${serviceName}`);
    expect(body.items).toMatchObject([{ traceId: run.traceId, question: null, answer: null }]);
    expect((await api.ask(`traces?service=${serviceName}&q=umbrella`)).body.items).toEqual([]);
    expect((await api.ask(`traces/facets?service=${serviceName}&q=umbrella`)).body['runs']).toBe(0);
  });

  test('is searched by words of question and answer in any case, and by whole ids', async () => {
    const serviceName = 'searched';
    const umbrella = runAt(4, {
      serviceName,
      userId: 'Umbrella',
      question: 'Où est-il ?',
      answer: 'ÉTÉ 100%_a\\b',
    });
    const asked = runAt(3, {
      serviceName,
      sessionId: 's-umbrella',
      question: 'An UMBRELLA in Lisbon?',
      answer: 'No.',
    });
    const other = runAt(2, {
      serviceName,
      agentVersion: '2.0',
      tools: ['search'],
      toolErrors: 0,
      answer: 'Rain in Oslo',
    });
    await api.store.runs.write([umbrella, asked, other]);
    const name = new Map([
      [umbrella.traceId, 'umbrella'],
      [asked.traceId, 'asked'],
      [other.traceId, 'other'],
    ]);
    const searched = async (query: string) =>
      idsOf(await api.readAll(`traces?service=${serviceName}&limit=1&${query}`)).map((id) => name.get(id));

    for (const [query, found] of [
      ['q=umbrella', ['asked', 'other']],
      ['q=Umbrella', ['umbrella', 'asked', 'other']],
      ['q=brella+in', ['asked']],
      ['q=%C3%A9t%C3%A9', ['umbrella']],
      ['q=100%25_', ['umbrella']],
      ['q=a\\b', ['umbrella']],
      ['q=1%25%25', []],
      ['q=s-umbrella', ['asked']],
      ['q=s-umbrell', []],
      [`q=${other.traceId.toUpperCase()}`, ['other']],
      [`q=${other.traceId.slice(0, 31)}`, []],
      ['q=umbrella&userId=user-9', ['asked', 'other']],
      ['agentVersion=2.0', ['other']],
      ['tool=search&tool=none', ['other']],
      ['toolError=true', ['umbrella', 'asked']],
      ['q=rain&toolError=true', []],
    ] as const) {
      expect([query, await searched(query)]).toEqual([query, found]);
      const { body } = await api.ask(`traces/facets?service=${serviceName}&${query}`);
      expect([query, body['runs']]).toEqual([query, found.length]);
    }
    for (const query of ['q=+', 'toolError=false', 'order=best', 'order=worst&cursor=x']) {
      expect([query, (await api.ask(`traces?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test('has the worst first, by the scores that are asked for, with counts of the same traces by facet', async () => {
    const serviceName = 'worst';
    const runs = [0.9, 0.1, 0.5].map((score, at) => ({
      score,
      run: runAt(at, { serviceName, agent: at === 0 ? 'writer' : 'reader', tools: ['search'] }),
    }));
    await api.store.runs.write(runs.map(({ run }) => run));
    await api.store.scores.write(
      runs.flatMap(({ run, score }) => {
        const scale = {
          higherIsBetter: true,
          scoreMin: 0,
          scoreMax: 1,
          serviceName,
          agent: run.agent,
          ...buildKeyOf(run),
        };
        return [
          buildScore({ ...scale, score }),
          buildScore({ ...scale, scorer: 'turns', score: -9, scoreMin: null, scoreMax: null }),
          buildScore({
            ...scale,
            scorer: 'toxicity',
            score: 1 - score,
            scoreMin: 0.1,
            higherIsBetter: false,
          }),
        ];
      }),
    );
    await api.store.decisions.write([
      buildDecision({
        traceId: runs[0]!.run.traceId,
        scorer: 'bias',
        status: 'failed',
        reason: 'timeout: 3 s',
      }),
    ]);
    const worst = async (query: string) => {
      const { body } = await api.ask(`traces?service=${serviceName}&order=worst&${query}`);
      return idsOf(body.items).map((id) => runs.find(({ run }) => run.traceId === id)?.score);
    };

    expect(await worst('')).toEqual([0.1, 0.5, 0.9]);
    expect(await worst('limit=1&scorer=keyword-coverage')).toEqual([0.1]);
    expect(await worst('agent=writer&q=sunny')).toEqual([0.9]);
    expect(await worst('scorer=keyword-coverage&min=0.4')).toEqual([0.5, 0.9]);

    const { body } = await api.ask(`traces/facets?service=${serviceName}&scorer=keyword-coverage`);
    expect(body).toMatchObject({
      runs: 3,
      agent: [
        { value: 'reader', count: 2 },
        { value: 'writer', count: 1 },
      ],
      agentVersion: [{ value: '1.0', count: 3 }],
      tool: [{ value: 'search', count: 3 }],
      scorer: [
        { value: 'keyword-coverage', count: 3 },
        { value: 'toxicity', count: 3 },
        { value: 'turns', count: 3 },
      ],
      notScored: [{ value: 'timeout', count: 1 }],
      buckets: [],
    });
    const some = (await api.ask(`traces/facets?service=${serviceName}&of=agent&of=tool`)).body;
    expect(some).toMatchObject({ runs: 3, agent: body['agent'], tool: body['tool'] });
    expect([some['agentVersion'], some['scorer'], some['notScored']]).toEqual([[], [], []]);
    const overTime = await api.ask(`traces/facets?service=${serviceName}&since=2026-01-01T00:00:00Z`);
    expect(sumOf(overTime.body['buckets'], 'runs')).toBe(3);
    expect(sumOf(overTime.body['buckets'], 'errors')).toBe(3);
  });

  test('counts the scorers and the reasons of many traces as those of few', async () => {
    const serviceName = 'many';
    const runs = Array.from({ length: 104 }, (_, at) =>
      runAt(at, { serviceName, agent: `agent-${at % 2}`, userId: at < 3 ? 'first' : 'other' }),
    );
    await api.store.runs.write(runs);
    await api.store.scores.write(
      runs.flatMap((run, at) => [
        buildScore({ ...buildKeyOf(run), serviceName }),
        ...(at % 4 === 0 ? [buildScore({ ...buildKeyOf(run), serviceName, scorer: 'tone' })] : []),
      ]),
    );
    await api.store.decisions.write(
      runs.flatMap(({ traceId, agent }, at) =>
        at % 4 === 0
          ? []
          : [
              buildDecision({
                traceId,
                agent,
                scorer: 'tone',
                status: 'failed',
                reason: `${at % 4 === 1 ? 'timeout' : 'refused'}: x`,
              }),
            ],
      ),
    );
    const count = async (query: string) => {
      const { body } = await api.ask(`traces/facets?service=${serviceName}&${query}`);
      const { runs: all, scorer, notScored } = body as Record<string, { value: string; count: number }[]>;
      return [all, ...[scorer, notScored].map((items) => items?.map((item) => [item.value, item.count]))];
    };
    const reasons = (refused: number, timeout: number) => [
      ['refused', refused],
      ['timeout', timeout],
    ];
    const scorers = (all: number, tone: number) => [
      ['keyword-coverage', all],
      ['tone', tone],
    ];
    expect(await count('of=scorer&of=notScored')).toEqual([104, scorers(104, 26), reasons(52, 26)]);
    expect(await count('of=scorer&of=notScored&agent=agent-0')).toEqual([
      52,
      scorers(52, 26),
      [['refused', 26]],
    ]);
    expect(await count('of=scorer&of=notScored&userId=first')).toEqual([3, scorers(3, 1), reasons(1, 1)]);
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

  test('takes a made trace, which is read as a run with a tool call and an answer', async () => {
    const sent = await fetch(`${api.address}/traces/sample`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(sent.status).toBe(201);
    const { traceId } = (await sent.json()) as { traceId: string };
    const { body } = await api.ask(`traces/${traceId}`);
    expect(body).toMatchObject({
      reading: { runs: [{ agent: 'sample-agent', service: 'sample', scorable: true }], notUnderstood: [] },
    });
    const spans = body['spans'] as { name: string }[];
    expect(spans.map(({ name }) => name)).toContain('execute_tool get_weather');
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
