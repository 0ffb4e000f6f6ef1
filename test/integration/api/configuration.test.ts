import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildDecision, buildScore, newTraceId } from '../../support/store/store-rows.ts';

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi({
    config: {
      judges: {
        default: 'local/judge',
        providers: { local: { baseURL: 'http://127.0.0.1:1/v1' } },
        prices: { 'local/judge': { input: 1, output: 1 } },
      },
      scorers: { strict: { use: 'hallucination', judge: 'local/strict' } },
      rules: [
        {
          name: 'production',
          scorers: ['keyword-coverage', 'strict'],
          where: { service: 'shop' },
          sample: { rate: 0.5 },
          budget: { perDay: 5 },
        },
      ],
    },
  });
});
afterAll(() => api.stop());

describe('what is configured', () => {
  test('names in the status the keys that differ from the defaults, and no others', async () => {
    const { body } = await api.ask('status');
    const { judges, ...others } = body['configChanges'] as Record<string, unknown>;
    expect(Object.keys(others).toSorted()).toEqual(['rules', 'scorers']);
    expect(judges).toEqual({
      default: 'local/judge',
      providers: { local: expect.objectContaining({ baseURL: 'http://127.0.0.1:1/v1' }) },
      prices: { 'local/judge': expect.objectContaining({ input: 1, output: 1 }) },
    });
    expect(Object.keys(body['config'] as object)).toContain('store');
  });

  test('lists the scorers with their judges and their rules', async () => {
    const { body } = await api.ask('scorers');
    expect(body.items).toMatchObject([
      {
        scorer: 'keyword-coverage',
        use: 'keyword-coverage',
        kind: 'code',
        judge: null,
        rules: ['production'],
        higherIsBetter: true,
        scoreMin: 0,
        scoreMax: 1,
      },
      {
        scorer: 'strict',
        use: 'hallucination',
        kind: 'judge',
        judge: 'local/strict',
        activeFrom: null,
        higherIsBetter: false,
        scoreMin: 0,
        scoreMax: 1,
      },
    ]);
  });

  test('lists the rules, since when they are in force, and what they decided', async () => {
    const nowMs = await api.store.spans.nowMs();
    const atMs = nowMs - 3_600_000;
    await api.store.ruleVersions.record({
      rule: 'production',
      version: 'v1',
      activeFromMs: atMs,
      probability: 0.5,
      definition: { scorers: ['keyword-coverage'] },
    });
    const decided = { rule: 'production', evidenceUntil: nowMs };
    await api.store.decisions.write([
      buildDecision(decided),
      buildDecision({ ...decided, status: 'failed' }),
      buildDecision({ ...decided, scorer: '*', status: 'filtered' }),
    ]);
    const { body } = await api.ask('rules');
    expect(body.items).toMatchObject([
      {
        rule: 'production',
        version: 'v1',
        activeFrom: new Date(atMs).toISOString(),
        target: 'trace',
        scorers: ['keyword-coverage', 'strict'],
        where: { service: ['shop'] },
        sample: { rate: 0.5 },
        budget: { perDay: 5 },
        versions: [{ version: 'v1', rate: 0.5 }],
        decisions: { scored: 1, eligible: 2 },
      },
    ]);
  });

  test('lists the judges with their calls by the hour, and the budgets', async () => {
    const nowMs = await api.store.spans.nowMs();
    const call = {
      tenant: '',
      traceId: newTraceId(),
      scoreId: 's',
      scorer: 'strict',
      step: 'analyze',
      model: 'local/strict',
      servedModel: '',
      prompt: 'p',
      reply: 'r',
      calledAtMs: nowMs - 1_000,
    };
    await api.store.judgeCalls.write([
      {
        ...call,
        status: 'success',
        error: '',
        inputTokens: 10,
        outputTokens: 5,
        costUsd: 0.5,
        durationMs: 100,
      },
      {
        ...call,
        status: 'failed',
        error: 'HTTP 429: slow down',
        inputTokens: null,
        outputTokens: null,
        costUsd: null,
        durationMs: 300,
      },
      {
        ...call,
        status: 'unusable',
        error: "the judge's answer cannot be used: it is no JSON",
        inputTokens: 10,
        outputTokens: 1,
        costUsd: 0.25,
        durationMs: 200,
      },
    ]);
    await api.store.runs.write([
      buildRunRecord({ tenant: '', traceId: call.traceId, agent: 'guide', environment: 'live' }),
    ]);
    for (const choice of ['agent=guide', 'environment=live&since=1h']) {
      expect((await api.ask(`judges?${choice}`)).body.items).toMatchObject([{ calls: 3, costUsd: 0.75 }]);
    }
    for (const choice of ['agent=clerk', `until=${new Date(nowMs - 60_000).toISOString()}`]) {
      expect((await api.ask(`judges?${choice}`)).body).toMatchObject({
        items: [{ judge: 'local/strict', calls: 0, hours: [] }],
        budgets: [{ capUsd: 5 }],
      });
    }
    const { status, body } = await api.ask('judges');
    expect(status).toBe(200);
    expect(body.items).toMatchObject([
      {
        judge: 'local/strict',
        calls: 3,
        failed: 2,
        inputTokens: 20,
        outputTokens: 6,
        costUsd: 0.75,
        failures: { 'HTTP 429': 1, "the judge's answer cannot be used": 1 },
        scorers: ['strict'],
        cacheHits: null,
        breaker: null,
        hours: [{ calls: 3, failed: 2 }],
      },
    ]);
    expect(body.items[0]?.['latencyP50Ms']).toBeGreaterThanOrEqual(100);
    expect(body['budgets']).toMatchObject([
      { scope: 'rule', rule: 'production', period: 'day', capUsd: 5, spentUsd: 0, leftUsd: 5 },
    ]);
  });
});

describe('what a tenant is shown', () => {
  let asked: ReadApi;

  beforeAll(async () => {
    const hits = new Map([
      [undefined, 5],
      ['a', 2],
    ]);
    asked = await startReadApi({
      config: {
        judges: { default: 'openai/gpt-5-mini' },
        scorers: { strict: { use: 'hallucination' }, tone: { use: 'keyword-coverage' } },
        rules: [
          {
            name: 'gold',
            scorers: ['tone'],
            where: { attributes: { 'customer.name': 'BRAVO' }, not: { attributes: { tier: 'BRAVO-2' } } },
          },
        ],
      },
      tokens: [
        { name: 'all', token: 'all', tenant: '', scopes: ['read'] },
        { name: 'a', token: 'of-a', tenant: 'a', scopes: ['read'] },
      ],
      ofProcess: {
        judgeState: (_judge, tenant) => ({ breaker: 'closed', cacheHits: hits.get(tenant) ?? 0 }),
      },
    });
  });
  afterAll(() => asked.stop());

  test('has its own cache hits of a judge', async () => {
    const [ofAll, ofOne] = await Promise.all([asked.ask('judges', 'all'), asked.ask('judges', 'of-a')]);
    expect(ofAll.body.items).toMatchObject([{ judge: 'openai/gpt-5-mini', cacheHits: 5 }]);
    expect(ofOne.body.items).toMatchObject([{ judge: 'openai/gpt-5-mini', cacheHits: 2 }]);
  });

  test('names nothing of others: no score rows, and no values in the conditions of rules', async () => {
    const { scores, decisions } = asked.store;
    const traceId = newTraceId();
    const reason = 'where: customer.name is none, the rule wants BRAVO';
    await scores.write([
      buildScore({ tenant: 'a', scorer: 'tone', traceId }),
      buildScore({ tenant: 'b', scorer: 'tone-BRAVO' }),
    ]);
    await decisions.write([
      buildDecision({ tenant: 'a', traceId, rule: 'gold', status: 'filtered', reason }),
    ]);
    const ask = async (token: string) => {
      const paths = ['scorers', 'rules', `traces/${traceId}`];
      return JSON.stringify(await Promise.all(paths.map((path) => asked.ask(path, token))));
    };
    const [ofAll, ofOne] = [await ask('all'), await ask('of-a')];
    expect(ofAll.match(/BRAVO/g)).toHaveLength(4);
    expect(ofOne).not.toContain('BRAVO');
    expect(ofOne).toContain('where: customer.name is none');
  });
});
