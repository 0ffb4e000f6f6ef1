import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { newTraceId, buildScore, testStore, type TestStore } from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

describe('scores', () => {
  test('come back equal in every field, by id and by trace', async () => {
    const score = buildScore({
      tenant: 't',
      sessionId: 's',
      label: 'low',
      higherIsBetter: false,
      reason: 'a "reason"\n\nwith lines; DROP TABLE scores',
      verdicts: [{ statement: '18°C', verdict: 'yes', quote: '☔', spanId: 'a'.repeat(16) }],
      traceTimestamp: 0,
      inputTokens: 193,
      outputTokens: 0,
      costUsd: 0.0001,
      completeness: 'partial',
      source: 'backfill',
      stratum: 'backfill',
      weight: null,
    });
    await it.store.scores.write([score]);
    expect((await it.store.scores.byIds([score.scoreId])).get(score.scoreId)).toEqual(score);
    const key = { tenant: 't', traceId: score.traceId };
    expect((await it.store.scores.ofTraces([key])).get(joinTraceKey(key))).toEqual([score]);
    expect((await it.store.scores.ofTraces([{ ...key, tenant: '' }])).size).toBe(0);
  });

  test('of newer evidence replace, those of older evidence never do', async () => {
    const first = buildScore({ evidenceUntil: 1000 });
    const second = { ...first, evidenceUntil: 2000, revision: 2, score: 0.5, evidenceHash: 'e2' };
    await it.store.scores.write([second]);
    await it.store.scores.write([first]);
    expect((await it.store.scores.byIds([first.scoreId])).get(first.scoreId)).toEqual(second);
    expect(await it.store.scores.list({ traceId: first.traceId, limit: 10 })).toEqual([second]);
  });

  test('of a backfill give way to live ones of the same evidence', async () => {
    const live = buildScore();
    await it.store.scores.write([live]);
    await it.store.scores.write([{ ...live, source: 'backfill', score: 0 }]);
    expect((await it.store.scores.byIds([live.scoreId])).get(live.scoreId)?.source).toBe('live');
  });

  test('are gone once a tombstone of newer evidence is written, and stay for one of older evidence', async () => {
    const gone = buildScore({ evidenceUntil: 1000 });
    const kept = buildScore({ evidenceUntil: 1000 });
    await it.store.scores.write([gone, kept]);
    await it.store.scores.write([
      { ...gone, evidenceUntil: 1001, isDeleted: true },
      { ...kept, evidenceUntil: 999, isDeleted: true },
    ]);
    const found = await it.store.scores.byIds([gone.scoreId, kept.scoreId]);
    expect([...found.keys()]).toEqual([kept.scoreId]);
    expect(await it.store.scores.list({ traceId: gone.traceId, limit: 10 })).toEqual([]);
  });

  test('are listed newest first by the requested filter', async () => {
    const serviceName = 'listed';
    const scores = [1, 2, 3].map((n) =>
      buildScore({ serviceName, scoredAt: 1_763_700_000_000 + n, score: n / 10 }),
    );
    await it.store.scores.write(scores);
    const list = (filter: object) => it.store.scores.list({ service: serviceName, limit: 10, ...filter });
    expect((await list({})).map(({ score }) => score)).toEqual([0.3, 0.2, 0.1]);
    expect((await list({ limit: 1 })).map(({ score }) => score)).toEqual([0.3]);
    expect((await list({ maxScore: 0.2 })).map(({ score }) => score)).toEqual([0.2, 0.1]);
    expect((await list({ sinceMs: 1_763_700_000_003 })).map(({ score }) => score)).toEqual([0.3]);
    expect(await list({ scorers: ["none' OR '1' = '1"] })).toEqual([]);
    expect(await list({ source: 'human' })).toEqual([]);
    expect(await list({ tenant: 'x' })).toEqual([]);
  });

  test('wait for an exporter until it confirms this very revision', async () => {
    const first = buildScore({ tenant: 'exports' });
    await it.store.scores.write([first]);
    const waiting = async (exporter: string) =>
      (await it.store.scores.unexported(exporter, 0, 1000)).filter(({ tenant }) => tenant === 'exports');
    expect(await waiting('otlp')).toEqual([first]);
    await it.store.scores.markExported('otlp', [first]);
    expect(await waiting('otlp')).toEqual([]);
    expect(await waiting('webhook')).toEqual([first]);
    const second = { ...first, revision: 2, evidenceUntil: first.evidenceUntil + 1 };
    await it.store.scores.write([second]);
    expect(await waiting('otlp')).toEqual([second]);
  });

  test('written long ago are no more offered to exporters', async () => {
    await it.store.scores.write([buildScore()]);
    expect(await it.store.scores.unexported('late', Date.now() + 3_600_000, 10)).toEqual([]);
  });
});

describe('rules, judge calls and money', () => {
  test('a rule version keeps its first moment, whoever records it again', async () => {
    const version = {
      rule: 'r',
      version: 'v1',
      activeFromMs: 2000,
      probability: 0.1,
      definition: { rate: 0.1 },
    };
    await it.store.ruleVersions.record(version);
    await it.store.ruleVersions.record({ ...version, activeFromMs: 9000 });
    await it.store.ruleVersions.record({ ...version, version: 'v2', activeFromMs: 5000 });
    expect(await it.store.ruleVersions.list()).toEqual([
      version,
      { ...version, version: 'v2', activeFromMs: 5000 },
    ]);
  });

  test('money is summed by rule from a moment on, a retried entry once', async () => {
    const entry = { rule: 'r', costUsd: 0.25, atMs: 5000, scoreId: 's1', callId: 'c1' };
    const settle = { ...entry, costUsd: -0.05, atMs: 6000 };
    await it.store.judgeCalls.spend([entry]);
    await it.store.judgeCalls.spend([entry]);
    await it.store.judgeCalls.spend([settle, { ...entry, rule: 'other' }]);
    const booked = async (rule: string, sinceMs: number) =>
      (await it.store.judgeCalls.readSpending(rule, sinceMs, 0)).bookedUsd;
    expect(await booked('r', 0)).toBeCloseTo(0.2);
    expect(await booked('r', 6000)).toBeCloseTo(-0.05);
    expect(await booked('nobody', 0)).toBe(0);
  });

  test('money of calls under way is told from that of calls that ended, and of calls that nobody settled', async () => {
    const entry = { rule: 'open', costUsd: 0.25, atMs: 5000, scoreId: 's1' };
    await it.store.judgeCalls.spend([
      { ...entry, callId: 'ended' },
      { ...entry, callId: 'ended', costUsd: -0.05, atMs: 5001 },
      { ...entry, callId: 'under way', costUsd: 0.5, atMs: 9000 },
      { ...entry, callId: 'never settled', costUsd: 0.125, atMs: 4000 },
    ]);
    const { bookedUsd, reservedUsd } = await it.store.judgeCalls.readSpending('open', 0, 8000);
    expect(bookedUsd).toBeCloseTo(0.825);
    expect(reservedUsd).toBe(0.5);
  });

  test('judge calls are kept', async () => {
    const call = {
      tenant: '',
      traceId: newTraceId(),
      scoreId: 's',
      scorer: 'hallucination',
      step: 'verdicts',
      model: 'openai/x',
      status: 'success' as const,
      prompt: 'p',
      reply: 'r',
      error: '',
      inputTokens: 10,
      outputTokens: null,
      costUsd: 0.1,
      durationMs: 12.5,
      calledAtMs: Date.now(),
    };
    await expect(it.store.judgeCalls.write([call, call])).resolves.toBeUndefined();
  });
});
