import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { computeScoreId } from '../../../src/domain/identity.ts';
import type { Score } from '../../../src/domain/score.ts';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { store } from '../../support/store/stored-agent.ts';
import { buildDecision, newTraceId, buildScore } from '../../support/store/store-rows.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi();
});
afterAll(() => api.stop());

describe('scores', () => {
  const START_MS = Date.UTC(2026, 0, 1);

  function scoreAt(minute: number, more: Partial<Score> = {}): Score {
    const traceId = newTraceId();
    return aScore({
      scoreId: randomUUID(),
      traceId,
      targetId: traceId,
      traceTimestamp: START_MS + minute * 60_000,
      day: '2026-01-01',
      ...more,
    });
  }

  const idsOf = (items: readonly Record<string, unknown>[]) => items.map(({ scoreId }) => String(scoreId));

  describe('the list of scores', () => {
    test('shows the current row only: not a former start, not a deleted score', async () => {
      const scorer = 'replaced';
      const moved = scoreAt(1, { scorer });
      const deleted = scoreAt(2, { scorer });
      await api.store.scores.write([moved, deleted]);
      const later = { evidenceUntil: moved.evidenceUntil + 1, revision: 2 };
      await api.store.scores.write([
        { ...moved, ...later, traceTimestamp: START_MS + 300_000, score: 1 },
        { ...deleted, ...later, isDeleted: true },
      ]);
      const { body } = await api.ask(`scores?scorer=${scorer}`);
      expect(body.items).toMatchObject([{ scoreId: moved.scoreId, score: 1 }]);
    });

    test('filters by facets, values and times; a repeated parameter means any of them', async () => {
      const one = scoreAt(1, { scorer: 'filtered', agent: 'writer', score: 0.1 });
      const two = scoreAt(2, { scorer: 'filtered', agent: 'reader', score: 0.5, model: 'm-2' });
      const three = scoreAt(3, { scorer: 'filtered', agent: 'other', score: 0.9, source: 'human' });
      await api.store.scores.write([one, two, three]);
      const { traceId, targetId, fingerprint } = two;
      await api.store.decisions.write([
        buildDecision({
          traceId,
          targetId,
          fingerprint,
          scorer: 'filtered',
          rule: 'strict',
          reason: 'late: x',
        }),
      ]);
      const listed = async (query: string) =>
        idsOf((await api.ask(`scores?scorer=filtered&${query}`)).body.items);
      expect(await listed('')).toEqual([three, two, one].map(({ scoreId }) => scoreId));
      expect(await listed('agent=writer&agent=reader')).toEqual([two.scoreId, one.scoreId]);
      expect(await listed('model=m-2')).toEqual([two.scoreId]);
      expect(await listed('min=0.5&max=0.6')).toEqual([two.scoreId]);
      expect(await listed('source=human')).toEqual([three.scoreId]);
      expect(await listed('rule=strict&reason=late&status=scored')).toEqual([two.scoreId]);
      expect(await listed('rule=other')).toEqual([]);
      expect(await listed(`traceId=${one.traceId.toUpperCase()}`)).toEqual([one.scoreId]);
      expect(await listed('since=2026-01-01T00:02:00Z&until=2026-01-01T00:03:00Z')).toEqual([two.scoreId]);
    });

    test('finds a score by the decision of its own scorer, not of another one with the same options', async () => {
      const traceId = newTraceId();
      const rowOf = (scorer: string) => scoreAt(5, { traceId, targetId: traceId, scorer });
      const [plain, alias, further] = ['alike', 'alike-strict', 'alike/second'].map(rowOf);
      await api.store.scores.write([plain!, alias!, further!]);
      const decided = { traceId, targetId: traceId, fingerprint: plain!.fingerprint };
      await api.store.decisions.write([
        buildDecision({ ...decided, scorer: 'alike', rule: 'production' }),
        buildDecision({ ...decided, scorer: 'alike-strict', rule: 'audit' }),
      ]);
      const listed = async (query: string) =>
        idsOf((await api.ask(`scores?traceId=${traceId}&${query}`)).body.items);
      expect(await listed('rule=production&scorer=alike-strict')).toEqual([]);
      expect((await listed('rule=production')).toSorted()).toEqual(
        [plain!.scoreId, further!.scoreId].toSorted(),
      );
      expect(await listed('rule=audit')).toEqual([alias!.scoreId]);
    });

    test('takes the name of a scorer with several rows for all of them', async () => {
      const rows = ['grounding-hallucination', 'grounding-faithfulness'].map((scorer) =>
        scoreAt(4, { scorer }),
      );
      await api.store.scores.write(rows);
      const { body } = await api.ask('scores?scorer=grounding');
      expect(idsOf(body.items).toSorted()).toEqual(rows.map(({ scoreId }) => scoreId).toSorted());
    });

    test('gives the worst scores of each direction first, with order=score', async () => {
      const scorer = 'ordered';
      const high = (score: number) => scoreAt(1, { scorer, higherIsBetter: true, score });
      const low = (score: number) => scoreAt(1, { scorer, higherIsBetter: false, score });
      const worstFirst = [high(0.1), low(0.8), high(0.3), low(0.1)];
      await api.store.scores.write(worstFirst.toReversed());
      const { body } = await api.ask(`scores?scorer=${scorer}&order=score`);
      expect(idsOf(body.items)).toEqual(worstFirst.map(({ scoreId }) => scoreId));
      expect(body.next).toBeNull();
    });

    test('orders a score that was replaced by its new value', async () => {
      const scorer = 'ordered again';
      const worse = scoreAt(1, { scorer, higherIsBetter: true, score: 0.2 });
      const replaced = scoreAt(1, { scorer, higherIsBetter: true, score: 0.1 });
      await api.store.scores.write([worse, replaced]);
      const { evidenceUntil } = replaced;
      await api.store.scores.write([{ ...replaced, score: 0.9, evidenceUntil: evidenceUntil + 1 }]);
      const { body } = await api.ask(`scores?scorer=${scorer}&order=score`);
      expect(idsOf(body.items)).toEqual([worse, replaced].map(({ scoreId }) => scoreId));
      expect(body.items).toMatchObject([{ score: 0.2 }, { score: 0.9 }]);
    });

    test.each([
      ['scores?agnet=x', /agnet.*agent/],
      ['scores?since=soon', /since/],
      ['scores?until=2300-01-01T00:00:00Z', /until: .*to 2262-04-11/],
      ['coverage?since=1969-12-31', /since: .*from 1970-01-01/],
      ['scores?cursor=abc', /cursor/],
      ['scores?min=low', /min/],
      ['scores?limit=501', /limit/],
      ['scores?status=done', /status/],
    ])('refuses %s with what is wrong', async (path, expected) => {
      const { status, body } = await api.ask(path);
      expect(status).toBe(400);
      expect(body.detail).toMatch(expected);
    });
  });

  describe('one score', () => {
    test('shows where the quote of a verdict stands, and what the judge was asked', async () => {
      const trace = new AgentTraceBuilder()
        .with({ name: 'get_order', args: { id: 881 }, result: 'status: pending, amount 12.00' })
        .answering('The refund was issued.');
      const spans = decodeOtlpJson(trace.request()).spans;
      await store(api.store, spans);
      const { traceId } = trace;
      const toolSpan = spans.find(({ attributes }) => attributes.get('gen_ai.tool.name') === 'get_order');
      const key = { tenant: '', target: 'trace', targetId: traceId, fingerprint: 'f1' } as const;
      const score = aScore({
        ...key,
        scoreId: computeScoreId({ ...key, scorer: 'grounding-faithfulness' }),
        scorer: 'grounding-faithfulness',
        traceId,
        spanId: spans.find(({ parentSpanId }) => parentSpanId === '')?.spanId ?? '',
        verdicts: [
          { statement: 'issued', verdict: 'contradicted', quote: 'status: pending' },
          { statement: 'Tuesday', verdict: 'unsupported' },
        ],
      });
      await api.store.scores.write([score]);
      await api.store.judgeCalls.write([
        {
          tenant: '',
          traceId,
          scoreId: computeScoreId({ ...key, scorer: 'grounding' }),
          scorer: 'grounding',
          step: 'analyze',
          model: 'openai/gpt-5-mini',
          servedModel: '',
          status: 'success',
          prompt: 'Is it so?',
          reply: '{"verdict":"no"}',
          error: '',
          inputTokens: 10,
          outputTokens: 2,
          costUsd: 0.001,
          durationMs: 120,
          calledAtMs: START_MS,
        },
      ]);
      const { status, body } = await api.ask(`scores/${score.scoreId.toUpperCase()}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        scoreId: score.scoreId,
        verdicts: [
          { quote: 'status: pending', spanId: toolSpan?.spanId, start: 0, end: 15 },
          { quote: null, spanId: null, messageIndex: null, start: null, end: null },
        ],
        judgeCalls: [{ prompt: 'Is it so?', model: 'openai/gpt-5-mini', latencyMs: 120, costUsd: 0.001 }],
      });
    });

    test('is a 404 for an unknown id, and a 400 for text that is no id', async () => {
      expect((await api.ask(`scores/${randomUUID()}`)).status).toBe(404);
      expect((await api.ask('scores/1')).status).toBe(400);
    });
  });
});

describe('sessions', () => {
  const START_MS = Date.UTC(2026, 0, 1);

  const turnAt = (sessionId: string, minute: number, more: Parameters<typeof buildRunRecord>[0] = {}) =>
    buildRunRecord({ sessionId, startedAt: START_MS + minute * 60_000, ...more });

  const idsOf = (items: readonly Record<string, unknown>[]) =>
    items.map(({ sessionId }) => String(sessionId));

  describe('sessions', () => {
    test('have their turns in order, with the scores of each and of the whole', async () => {
      const sessionId = 'chat/42';
      const [first, second] = [
        turnAt(sessionId, 1, { costUsd: 0.5 }),
        turnAt(sessionId, 2, { costUsd: 0.25 }),
      ];
      const target = { target: 'session', targetId: sessionId, traceId: '' } as const;
      await api.store.runs.write([second, first]);
      await api.store.scores.write([
        buildScore({ traceId: second.traceId, sessionId, score: 0.5, scoreMin: 0, scoreMax: 1 }),
        // A measure is never the worst beside a quality, however far from its best value it is.
        buildScore({
          traceId: first.traceId,
          sessionId,
          scorer: 'behaviour-steps',
          score: 3,
          scoreMin: 0,
          scoreMax: 3,
          higherIsBetter: false,
        }),
        buildScore({
          traceId: second.traceId,
          sessionId,
          scorer: 'no-range',
          score: -7,
          scoreMin: null,
          scoreMax: null,
        }),
        buildScore({
          ...target,
          sessionId,
          scorer: 'multi-turn-judge',
          score: 0.9,
          scoreMin: 0,
          scoreMax: 1,
        }),
      ]);
      await api.store.decisions.write([buildDecision({ ...target, scorer: 'multi-turn-judge' })]);
      const { status, body } = await api.ask(`sessions/${encodeURIComponent(sessionId)}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        sessionId,
        turnCount: 2,
        userId: 'user-9',
        agents: ['weather-agent'],
        totalTokens: 448,
        costUsd: 0.75,
        startedAt: new Date(first.startedAt).toISOString(),
        lastTurnAt: new Date(second.startedAt).toISOString(),
        scores: [{ scorer: 'multi-turn-judge', score: 0.9 }],
        decisions: [{ scorer: 'multi-turn-judge', status: 'scored' }],
        turns: [
          { traceId: first.traceId, scores: [{ scorer: 'behaviour-steps' }] },
          { traceId: second.traceId, scores: [{ score: 0.5 }, { scorer: 'no-range' }] },
        ],
        worst: { scorer: 'keyword-coverage', score: 0.5 },
        omittedTurns: 0,
      });
      expect((await api.ask('sessions/none')).status).toBe(404);
    });

    test('of one id in several tenants are told apart by the tenant that the request names', async () => {
      const sessionId = 'shared';
      const runs = ['b', '', 'a'].map((tenant, minute) => turnAt(sessionId, minute, { tenant }));
      await api.store.runs.write(runs);
      expect(await api.ask(`sessions/${sessionId}`)).toMatchObject({
        status: 400,
        body: {
          detail: `several tenants have the session ${sessionId}: "", "a", "b"; name one (--tenant, or the parameter tenant)`,
        },
      });
      for (const { tenant, traceId } of runs) {
        expect(await api.ask(`sessions/${sessionId}?tenant=${tenant}`)).toMatchObject({
          status: 200,
          body: { tenant, turnCount: 1, turns: [{ traceId }] },
        });
      }
      expect((await api.ask(`sessions/${sessionId}?tenant=other`)).status).toBe(404);
    });

    test('of an agent without a name are found by its service, and so are its traces and scores; facets count it', async () => {
      const run = turnAt('nameless', 5, { agent: '', serviceName: 'nameless-service' });
      const named = turnAt('named', 5, { agent: 'named-agent', serviceName: 'nameless-service' });
      await api.store.runs.write([run, named]);
      const { traceId } = run;
      const score = buildScore({ traceId, targetId: traceId, agent: '', serviceName: 'nameless-service' });
      await api.store.scores.write([score]);
      const listed = async (path: string) => (await api.ask(`${path}?agent=nameless-service`)).body.items;
      expect(idsOf(await listed('sessions'))).toEqual(['nameless']);
      expect(await listed('traces')).toMatchObject([{ traceId }]);
      expect(await listed('scores')).toMatchObject([{ scoreId: score.scoreId }]);
      const facets = async (query: string) =>
        (await api.ask(`traces/facets?service=nameless-service&${query}`)).body;
      const values = ['named-agent', 'nameless-service'].map((value) => ({ value, count: 1 }));
      expect(await facets('since=2025-12-01')).toMatchObject({ agent: values });
      expect(await facets(`since=2025-12-01&q=${traceId}`)).toMatchObject({ agent: [values[1]] });
    });

    test('are filtered by what one of their turns has', async () => {
      await api.store.runs.write([
        turnAt('mixed', 1, { agent: 'writer', environment: 'filtered', costUsd: 0.5 }),
        turnAt('mixed', 2, { agent: 'reader', environment: 'filtered', costUsd: null }),
        turnAt('plain', 3, { agent: 'writer', environment: 'filtered', costUsd: 0.5 }),
        turnAt('plain', 4, { environment: 'filtered', costUsd: null, models: [] }),
      ]);
      expect((await api.ask('sessions?environment=filtered')).body.items).toMatchObject([
        { sessionId: 'plain', costUsd: 0.5, worst: null },
        { sessionId: 'mixed', costUsd: null },
      ]);
      const listed = async (query: string) =>
        idsOf((await api.ask(`sessions?environment=filtered&${query}`)).body.items);
      expect(await listed('')).toEqual(['plain', 'mixed']);
      expect(await listed('agent=reader')).toEqual(['mixed']);
      expect(await listed('since=2026-01-01T00:02:30Z')).toEqual(['plain']);
    });

    test('are filtered by the scores and the decisions of the session or of one of its turns', async () => {
      const environment = 'judged';
      const turns = ['cold', 'warm', 'warm', 'dry'].map((id, minute) => turnAt(id, minute, { environment }));
      const [cold, warm, late] = turns;
      const ofTurn = ({ traceId = '' } = {}) => ({ traceId, targetId: traceId });
      const ofSession = (id: string) => ({ target: 'session', targetId: id, traceId: '' }) as const;
      await api.store.runs.write(turns);
      await api.store.scores.write([
        buildScore({ ...ofTurn(cold), sessionId: 'cold', scorer: 'tone', score: 0.2 }),
        buildScore({ ...ofTurn(warm), sessionId: 'warm', scorer: 'tone', score: 0.9 }),
        buildScore({ ...ofTurn(late), sessionId: 'warm', scorer: 'bias', score: 0.1, source: 'human' }),
        buildScore({ ...ofSession('dry'), sessionId: 'dry', scorer: 'tone', score: 0.5 }),
      ]);
      await api.store.decisions.write([
        buildDecision({ ...ofTurn(cold), rule: 'one', scorer: 'tone' }),
        buildDecision({ ...ofTurn(late), rule: 'one', status: 'failed', reason: 'timeout: 30 s' }),
        buildDecision({ ...ofSession('dry'), rule: 'two', scorer: 'tone' }),
      ]);
      const listed = async (query: string) =>
        idsOf((await api.ask(`sessions?environment=judged&${query}`)).body.items);
      const answers: Readonly<Record<string, readonly string[]>> = {
        '': ['dry', 'warm', 'cold'],
        'scorer=tone': ['dry', 'warm', 'cold'],
        'scorer=tone&max=0.5': ['dry', 'cold'],
        // One score has both, and not one score each.
        'scorer=tone&source=human': [],
        'source=human': ['warm'],
        'min=0.3&max=0.6': ['dry'],
        'rule=one': ['warm', 'cold'],
        'rule=two': ['dry'],
        'status=failed&reason=timeout': ['warm'],
        'status=failed&rule=two': [],
        [`traceId=${String(late?.traceId)}`]: ['warm'],
        [`traceId=${String(late?.traceId)}&sessionId=cold`]: [],
        [`traceId=${'0'.repeat(32)}`]: [],
        'scorer=tone&rule=two&sessionId=dry': ['dry'],
      };
      const found = Object.keys(answers).map(async (query) => [query, await listed(query)] as const);
      expect(Object.fromEntries(await Promise.all(found))).toEqual(answers);
    });
  });
});
