import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../../src/api/access/request-access.ts';
import type { TenantStore, TenantWrites } from '../../../src/api/tenant-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { createScoring } from '../../support/scoring/bare-scoring.ts';
import { liveMode } from '../../../src/scoring/scoring-mode.ts';
import { prepareRule, recordRules } from '../../../src/scoring/select/rule.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { replyJson, startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { startJoins } from '../../support/api/posted-joins.ts';
import { buildRule, judged } from '../../support/scoring/scoring-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildDecision, buildScore, newSpanId, newTraceId } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

let world: ApiWorld;
let judge: JudgeServer;

beforeAll(async () => {
  judge = await startJudgeServer(() => replyJson({}));
  world = await apiWorld(undefined, { providers: { local: { baseURL: judge.baseUrl } } });
});
afterAll(async () => {
  await world.stop();
  await judge.close();
});

const LABEL_A = tokenOf('label', 'a');
const ADMIN_A = tokenOf('admin', 'a');

const label = (traceId: string, more: object = {}) => ({
  traceId,
  scorer: 'correctness',
  score: 1,
  source: 'human',
  ...more,
});

const post = (body: unknown, token = LABEL_A) => world.ask({ method: 'POST', path: '/scores', body, token });

async function idsOf(body: unknown, token?: string): Promise<string[]> {
  const answer = await post(body, token);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body['ids'] as string[];
}

const readScore = async (id: string) => (await world.store.scores.byIds([id])).get(id);

describe('POST /scores', () => {
  it('stores a score with the facts of its run, by the name of the token', async () => {
    const run = buildRunRecord({ tenant: 'a' });
    await world.store.runs.write([run]);
    const [id = ''] = await idsOf(label(run.traceId, { label: 'right', reason: 'as the order says' }));
    expect(await readScore(id)).toMatchObject({
      tenant: 'a',
      traceId: run.traceId,
      spanId: run.spanId,
      target: 'trace',
      scorer: 'correctness',
      score: 1,
      label: 'right',
      reason: 'as the order says',
      source: 'human',
      scoredBy: 'label of a',
      agent: 'weather-agent',
      serviceName: 'shop',
      sessionId: 'sess-1',
      userId: 'user-9',
      traceTimestamp: run.startedAt,
      completeness: 'complete',
      stratum: 'none',
      weight: null,
    });
  });

  it('replaces the score of the same trace, target, scorer and author, and no other', async () => {
    const traceId = newTraceId();
    const [first] = await idsOf(label(traceId, { score: 0, scoredBy: 'ann' }));
    const [second] = await idsOf(label(traceId, { score: 1, scoredBy: 'ann' }));
    const [ofBob] = await idsOf(label(traceId, { score: 0.5, scoredBy: 'bob' }));
    const [ofSpan] = await idsOf(label(traceId, { score: 0.2, scoredBy: 'ann', spanId: newSpanId() }));
    expect(second).toBe(first);
    expect(new Set([first, ofBob, ofSpan]).size).toBe(3);
    expect(await readScore(first ?? '')).toMatchObject({ score: 1, revision: 2 });
    expect(await readScore(ofBob ?? '')).toMatchObject({ score: 0.5 });
  });

  it.each([
    ['a score', '/scores', { source: 'human', score: 1 }, 'scoredBy'],
    ['a label', '/labels', { score: 1 }, 'reviewer'],
  ])('takes %s in the name of another token with the scope admin only', async (_what, path, body, key) => {
    const send = async (name: string, scope: 'label' | 'admin') => {
      const sent = { ...body, traceId: newTraceId(), scorer: 'correctness', [key]: name };
      return (await world.ask({ method: 'POST', path, body: sent, token: tokenOf(scope, 'a') })).status;
    };

    expect([await send('admin of a', 'label'), await send('ADMIN of a ', 'label')]).toEqual([403, 403]);
    expect([await send('label of a', 'admin'), await send('label of a', 'label')]).toEqual([201, 201]);
    expect(await send('label of b', 'label')).toBe(201);
  });

  it('takes a thousand at once; of two for the same target the last one counts', async () => {
    const traceId = newTraceId();
    const many = Array.from({ length: 998 }, (_, index) => label(newTraceId(), { score: index }));
    const ids = await idsOf([...many, label(traceId, { score: 3 }), label(traceId, { score: 4 })]);
    expect(ids).toHaveLength(1_000);
    expect(ids[998]).toBe(ids[999]);
    expect(await readScore(ids[999] ?? '')).toMatchObject({ score: 4 });
    expect(await readScore(ids[42] ?? '')).toMatchObject({ score: 42 });
    expect((await post([...many, label(traceId), label(traceId), label(traceId)])).status).toBe(400);
  });

  it('takes a trace that is not known yet, and joins it when the trace is read', async () => {
    const traceId = newTraceId();
    const [id = ''] = await idsOf(label(traceId));
    expect(await readScore(id)).toMatchObject({ agent: '', completeness: 'partial' });
    await ingest(world.store, agentRunSpans(traceId), 'a');
    await readLive(traceId);
    const joined = await readScore(id);
    expect(joined).toMatchObject({ score: 1, scoredBy: 'label of a', completeness: 'complete' });
    const [run] = (await world.store.runs.ofTraces([{ tenant: 'a', traceId }])).values();
    expect(run).toMatchObject([
      { agent: joined?.agent, spanId: joined?.spanId, startedAt: joined?.traceTimestamp },
    ]);
    expect(joined?.agent).not.toBe('');
  });

  it('takes a score that comes between the two reads of the scorer, and joins it soon', async () => {
    const { store } = world;
    const [traceId, unknown] = [newTraceId(), newTraceId()];
    const [waiting = ''] = await idsOf(label(unknown));
    await ingest(store, agentRunSpans(traceId), 'a');
    let id = '';
    const overlapped: typeof store = {
      ...store,
      scores: {
        ...store.scores,
        ofTraces: async (keys) => {
          const read = await store.scores.ofTraces(keys);
          id ||= (await idsOf(label(traceId)))[0] ?? '';
          return read;
        },
      },
    };
    await readLive(traceId, overlapped);
    expect(await readScore(id)).toMatchObject({ agent: '', completeness: 'partial' });

    const processes = [startJoins(store), startJoins(store)];
    await expect.poll(async () => (await readScore(id))?.completeness).toBe('complete');
    const [run] = (await store.runs.ofTraces([{ tenant: 'a', traceId }])).values();
    expect(await readScore(id)).toMatchObject({ score: 1, agent: run?.[0]?.agent, scoredBy: 'label of a' });
    expect(await readScore(waiting)).toMatchObject({ completeness: 'partial' });

    // A run without a further read of the scores, as of a process that was killed in between.
    await store.runs.write([buildRunRecord({ tenant: 'a', traceId: unknown })]);
    await expect.poll(async () => (await readScore(waiting))?.completeness).toBe('complete');
    await Promise.all(processes.map((stop) => stop()));
  });

  it('needs the scope admin for the source api', async () => {
    const mixed = [label(newTraceId()), label(newTraceId(), { source: 'api' })];
    expect(await post(mixed)).toMatchObject({
      status: 403,
      body: { detail: 'the bearer token label of a lacks the scope admin, which the source api needs' },
    });
    expect(await idsOf(mixed, ADMIN_A)).toHaveLength(2);
  });

  it.each([
    ['no trace', { traceId: undefined }, /traceId/],
    ['a short trace id', { traceId: 'abc' }, /32 hex digits/],
    ['a score that sums of squares cannot hold', { score: -1e101 }, /score: .*-1e\+100 to 1e\+100/],
    ['a score that is no number', { score: 'high' }, /score/],
    ['an unknown field', { scor: 1 }, /scor/],
    ['a scorer with NUL', { scorer: 'tone\0' }, /scorer: .*no control characters/],
    ['a scorer with half of a surrogate pair', { scorer: '\ud83d' }, /scorer: .*surrogate/],
    ['an author with a character that nobody sees', { scoredBy: 'ann\u200b' }, /scoredBy: .*invisible/],
    ['an author that turns the text around', { scoredBy: '\u202enna' }, /scoredBy: .*invisible/],
    ['an author with a line break', { scoredBy: 'a\nb' }, /scoredBy: .*no control characters/],
    ['a source of our own', { source: 'live' }, /source/],
  ])('refuses %s', async (_, more, expected) => {
    const { status, body } = await post(label(newTraceId(), more));
    expect([status, String(body['detail'])]).toEqual([400, expect.stringMatching(expected)]);
    expect((await post([label(newTraceId()), label(newTraceId(), more)])).status).toBe(400);
  });

  /** Scores a trace live, as soon as it is ready. */
  async function readLive(traceId: string, store = world.store): Promise<void> {
    const rule = prepareRule(buildRule([judged('any')], { name: 'live' }));
    const history = await recordRules(store.ruleVersions, [rule], (await store.spans.nowMs()) - 60_000);
    const scoring = createScoring(
      { stores: store, readTrace, log: silentLog },
      { decisionWaitMs: 1, judgeAttempts: 1 },
    );
    await until(async () => {
      const outcomes = await scoreTraces(scoring, [{ tenant: 'a', traceId }], liveMode([rule], history));
      return outcomes.every(({ waitUntilMs }) => waitUntilMs === null);
    });
  }
});

describe('DELETE /scores/{scoreId}', () => {
  const remove = (id: string, token = ADMIN_A) =>
    world.ask({ method: 'DELETE', path: `/scores/${id}`, token });

  it('deletes the score, and decides that it does not come back for this evidence', async () => {
    const score = buildScore({ tenant: 'a', scorer: 'grounding-faithfulness' });
    const { traceId } = score;
    const of = (scorer: string, more = {}) => buildDecision({ tenant: 'a', traceId, scorer, ...more });
    await world.store.scores.write([score]);
    await world.store.decisions.write([of('grounding'), of('tone'), of('grounding', { rule: 'second' })]);
    expect(await remove(score.scoreId)).toMatchObject({ status: 200, body: { deleted: score.scoreId } });
    expect(await readScore(score.scoreId)).toBeUndefined();
    const [rows = []] = (await world.store.decisions.ofTraces([score])).values();
    expect(
      rows.map(({ rule, scorer, status, reason }) => [rule, scorer, status, reason.split(':')[0]]),
    ).toEqual([
      ['default', 'grounding', 'not_applicable', 'deleted'],
      ['default', 'tone', 'scored', ''],
      ['second', 'grounding', 'not_applicable', 'deleted'],
    ]);
    expect((await remove(score.scoreId)).status).toBe(404);
  });

  it('a deleted score of live scoring stays deleted when the trace is read again', async () => {
    const traceId = newTraceId();
    const { store } = world;
    await ingest(store, agentRunSpans(traceId), 'a');
    const scorer = judged('once');
    const rule = prepareRule(buildRule([scorer], { name: 'live' }));
    const history = await recordRules(store.ruleVersions, [rule], (await store.spans.nowMs()) - 60_000);
    const read = (reread: boolean) =>
      scoreTraces(
        createScoring({ stores: store, readTrace, log: silentLog }, { decisionWaitMs: 1, judgeAttempts: 1 }),
        [{ tenant: 'a', traceId, reread }],
        liveMode([rule], history),
      );
    await until(async () => (await read(false)).some(({ scores }) => scores.length > 0));
    const [scores = []] = (await store.scores.ofTraces([{ tenant: 'a', traceId }])).values();
    expect(scores).toHaveLength(1);
    expect((await remove(scores[0]?.scoreId ?? '')).status).toBe(200);
    await read(true);
    await read(false);
    expect(await store.scores.ofTraces([{ tenant: 'a', traceId }])).toEqual(new Map());
  });

  it('takes the id in capitals, too', async () => {
    const score = buildScore({ tenant: 'a' });
    await world.store.scores.write([score]);
    expect(await remove(score.scoreId.toUpperCase())).toMatchObject({
      status: 200,
      body: { deleted: score.scoreId },
    });
  });

  it('does not find a score of another tenant', async () => {
    const score = buildScore({ tenant: 'b' });
    await world.store.scores.write([score]);
    expect((await remove(score.scoreId)).status).toBe(404);
    expect(await readScore(score.scoreId)).toMatchObject({ tenant: 'b' });
    expect((await remove(score.scoreId, tokenOf('admin'))).status).toBe(200);
  });

  it('a person may score again what was deleted', async () => {
    const traceId = newTraceId();
    const [id = ''] = await idsOf(label(traceId, { score: 0 }));
    expect((await remove(id)).status).toBe(200);
    await idsOf(label(traceId, { score: 1 }));
    expect(await readScore(id)).toMatchObject({ score: 1 });
  });
});

describe('POST /score', () => {
  const scoreNow = (body: object, token = ADMIN_A) =>
    world.ask({ method: 'POST', path: '/score', body, token });

  it('runs scorers now, and stores the results only with write', async () => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    const scorers = ['keyword-coverage'];
    const answer = await scoreNow({ traceId, scorers });
    expect(answer).toMatchObject({
      status: 200,
      body: { scores: [{ traceId, scorer: 'keyword-coverage', source: 'api' }] },
    });
    const key = { tenant: 'a', traceId };
    expect(await world.store.scores.ofTraces([key])).toEqual(new Map());
    expect((await scoreNow({ traceId, scorers, write: true })).status).toBe(200);
    expect([...(await world.store.scores.ofTraces([key])).values()]).toMatchObject([[{ traceId }]]);
  });

  it('asks a question now, and stores nothing', async () => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    judge.script(() => replyJson({ quote: '', reason: 'it says so', answer: 'kind' }));
    const answer = { type: 'score', levels: ['rude', 'kind'] };
    const ask = { ask: 'How kind is it?', answer, judge: 'local/small' };
    expect(await scoreNow({ traceId, ask })).toMatchObject({
      status: 200,
      body: {
        scores: [
          { traceId, scorer: 'ask', score: 1, label: 'kind', reason: 'kind: it says so', judgeCalls: 1 },
        ],
      },
    });
    expect(judge.requests.at(-1)?.prompt).toContain('How kind is it?');
    expect(await world.store.scores.ofTraces([{ tenant: 'a', traceId }])).toEqual(new Map());
  });

  it('lets a chat judge word the reasons of a stored score', async () => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    const finding = { statement: 'It is cold.', verdict: 'unsupported' };
    const stored = buildScore({
      tenant: 'a',
      traceId,
      judgeModel: 'openai/gpt-6-luna',
      verdicts: [{ ...finding, probability: 0.8 }],
    });
    const sound = buildScore({ tenant: 'a', traceId, scorer: 'bias', verdicts: [] });
    await world.store.scores.write([stored, sound, buildScore({ tenant: 'b' })]);
    judge.script(() =>
      replyJson({ verdicts: [{ n: 1, quote: '', reason: 'No source says it.', agrees: true }] }),
    );
    const explain = (scoreId: string, name = 'local/small', token = ADMIN_A) =>
      scoreNow({ traceId, why: { scoreId, judge: name } }, token);
    expect(await explain(stored.scoreId)).toMatchObject({
      status: 200,
      body: {
        scores: [{ scorer: 'why', score: 1, verdicts: [{ ...finding, reason: 'No source says it.' }] }],
      },
    });
    const paid = await world.store.judgeUse.callsOf({ tenant: 'a', traceId }, [stored.scoreId]);
    expect(paid).toMatchObject([{ scorer: 'why', model: 'local/small', status: 'success' }]);
    expect(paid[0]?.inputTokens).toBeGreaterThan(0);
    expect(await explain(sound.scoreId)).toMatchObject({ status: 400 });
    expect(await explain(newTraceId())).toMatchObject({ status: 400 });
    expect(await explain(buildScore({}).scoreId)).toMatchObject({ status: 404 });
    expect(await explain(stored.scoreId, 'local/small', tokenOf('admin', 'b'))).toMatchObject({
      status: 404,
    });
    const refused = await explain(stored.scoreId, 'openai/gpt-6-luna');
    expect(JSON.stringify(refused.body)).toContain('why needs a chat judge');
    const kept = await world.store.scores.ofTraces([{ tenant: 'a', traceId }]);
    expect(
      [...kept.values()]
        .flat()
        .map(({ scorer }) => scorer)
        .toSorted(),
    ).toEqual(['bias', stored.scorer].toSorted());
  });

  it.each([
    [{ ask: { ask: 'Is it kind?' } }, /^ask: ask needs a judge/],
    [
      { ask: { ask: 'Is it kind?', answer: { type: 'score', levels: ['kind'] } } },
      /levels: needs at least two/,
    ],
    [{ ask: { ask: 'Is it kind?', sees: [] } }, /ask.sees: must have at least 1 entry/],
    [{ ask: { ask: 'Is it kind?' }, write: true }, /write: a question without a name is not stored/],
    [{}, /name scorers, or ask a question, or why/],
  ])('refuses %j', async (asked, detail) => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    const { status, body } = await scoreNow({ traceId, ...asked });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toMatch(new RegExp(detail.source.replace('^', ''), 'u'));
  });

  it.each([
    [true, /their results will be stored: GET \/api\/v1\/traces\/[0-9a-f]{32} shows them/u, 1],
    [false, /the scorers were stopped, .*: ask again with "write": true/u, 0],
  ])('says after its time limit what becomes of the results (write: %s)', async (write, advice, stored) => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    const delay = new ScoringDelay();
    const limited = await world.listen({ maxRequestMs: 1_000, findStore: delay.findStore });
    const body = { traceId, scorers: ['keyword-coverage'], write };
    const answer = await limited.ask({ method: 'POST', path: '/score', body, token: ADMIN_A });
    expect(answer).toMatchObject({ status: 504, body: { title: 'Took too long' } });
    expect(answer.body['detail']).toMatch(advice);
    expect(delay.isStopped).toBe(!write);
    delay.end();
    await delay.ended;
    expect([...(await world.store.scores.ofTraces([{ tenant: 'a', traceId }])).values()]).toHaveLength(
      stored,
    );
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('goes on without its client only for results that are stored (write: %s)', async (write, stored) => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    const delay = new ScoringDelay();
    const { port } = await world.listen({ findStore: delay.findStore });
    const client = new AbortController();
    const asked = fetch(`http://127.0.0.1:${port}/api/v1/score`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_A}`, 'content-type': 'application/json' },
      body: JSON.stringify({ traceId, scorers: ['keyword-coverage'], write }),
      signal: client.signal,
    });
    await delay.begun;
    client.abort();
    await expect(asked).rejects.toThrow(/abort/iu);
    await (write ? sleep(300) : until(() => delay.isStopped));
    expect(delay.isStopped).toBe(!write);
    delay.end();
    await delay.ended;
    expect([...(await world.store.scores.ofTraces([{ tenant: 'a', traceId }])).values()]).toHaveLength(
      stored,
    );
  });

  it('finds no trace of another tenant, and names an unknown scorer', async () => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'b');
    expect((await scoreNow({ traceId, scorers: ['tone'] })).status).toBe(404);
    expect(await scoreNow({ traceId, scorers: ['keyword-coverge'] })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('did you mean keyword-coverage') },
    });
    expect(await scoreNow({ traceId, scorers: ['hallucination'] }, tokenOf('admin'))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('judges.default') },
    });
  });
});

/** Lets scorers begin later, and tells whether they were stopped. */
class ScoringDelay {
  readonly #begun = Promise.withResolvers<void>();
  readonly #late = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #signal: AbortSignal | undefined;

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get isStopped(): boolean {
    return this.#signal?.aborted === true;
  }

  end(): void {
    this.#late.resolve();
  }

  readonly findStore = (caller: Caller): TenantStore => {
    const store = world.findStore(caller);
    return { ...store, openWrites: this.#delay(store) };
  };

  #delay(store: TenantStore): TenantStore['openWrites'] {
    return async (...write) => {
      const writes = await store.openWrites(...write);
      const run: TenantWrites['scores']['run'] = async (request, signal) => {
        this.#signal = signal;
        this.#begun.resolve();
        await this.#late.promise;
        return writes.scores.run(request, signal).finally(this.#ended.resolve);
      };
      return { ...writes, scores: { ...writes.scores, run } };
    };
  }
}
