import type { ListFilters } from '../../../src/store/contracts/lists.ts';
import type { ListStore } from '../../../src/store/lists/list-store.ts';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { createBudgetReader } from '../../../src/scoring/budget/budget-request.ts';
import { NewVersions } from '../../../src/scoring/select/new-versions.ts';
import { scoreVersion } from '../../../src/domain/score.ts';
import {
  joinTraceKey,
  joinVersionKey,
  type SpendEntry,
  type VersionKey,
} from '../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildScore, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';

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
    const first = buildScore();
    const second = {
      ...first,
      evidenceUntil: first.evidenceUntil + 1,
      revision: 2,
      score: 0.5,
      evidenceHash: 'e2',
    };
    await it.store.scores.write([second]);
    await it.store.scores.write([first]);
    expect((await it.store.scores.byIds([first.scoreId])).get(first.scoreId)).toEqual(second);
    expect((await it.store.lists.scores({ traceId: [first.traceId] }, { limit: 10 })).items).toEqual([
      second,
    ]);
  });

  test('of a backfill give way to live ones of the same evidence', async () => {
    const live = buildScore();
    await it.store.scores.write([live]);
    await it.store.scores.write([{ ...live, source: 'backfill', score: 0 }]);
    expect((await it.store.scores.byIds([live.scoreId])).get(live.scoreId)?.source).toBe('live');
  });

  test('of the same evidence stay as they were first written, whatever a stalled process writes later', async () => {
    const first = buildScore({ evidenceUntil: Date.now() });
    await it.store.scores.write([first]);
    await delay(100);
    await it.store.scores.write([{ ...first, score: 0.1 }]);
    expect((await it.store.scores.byIds([first.scoreId])).get(first.scoreId)).toEqual(first);

    const again = { ...first, score: 0.2, revision: 2 };
    await it.store.scores.write([again]);
    expect((await it.store.scores.byIds([first.scoreId])).get(first.scoreId)).toEqual(again);
    await it.store.scores.write([{ ...again, isDeleted: true }]);
    expect((await it.store.scores.byIds([first.scoreId])).size).toBe(0);
  });

  test('have the version that the store computes, above the version of their evidence', async () => {
    const score = buildScore({ evidenceUntil: Date.now(), revision: 3 });
    await it.store.scores.write([score]);
    const [row] = await queryRows<{ version: string }>(
      it.options,
      `SELECT toString(Version) AS version FROM ${it.options.database}.scores WHERE ScoreId = '${score.scoreId}'`,
    );
    const aboveEvidence = BigInt(row!.version) - scoreVersion(score);
    expect(aboveEvidence >= 0n && aboveEvidence < 1n << 14n).toBe(true);
  });

  test('are gone once a tombstone of newer evidence is written, and stay for one of older evidence', async () => {
    const evidenceUntil = Date.UTC(2026, 10, 22);
    const gone = buildScore({ evidenceUntil });
    const kept = buildScore({ evidenceUntil });
    await it.store.scores.write([gone, kept]);
    await it.store.scores.write([
      { ...gone, evidenceUntil: evidenceUntil + 1, isDeleted: true },
      { ...kept, evidenceUntil: evidenceUntil - 1, isDeleted: true },
    ]);
    const found = await it.store.scores.byIds([gone.scoreId, kept.scoreId]);
    expect([...found.keys()]).toEqual([kept.scoreId]);
    expect((await it.store.lists.scores({ traceId: [gone.traceId] }, { limit: 10 })).items).toEqual([]);
  });

  test('are listed by the time of their scoring, the last or the first scored first, page by page', async () => {
    const serviceName = 'listed';
    const scores = [1, 2, 3].map((n) =>
      buildScore({ serviceName, scoredAt: 1_763_700_000_000 + n, score: n / 10 }),
    );
    await it.store.scores.write(scores);
    const list = async (filters: ListFilters, page: Partial<Parameters<ListStore['scores']>[1]> = {}) => {
      const asked = { limit: 10, order: 'scored', ...page } as const;
      const { items, next } = await it.store.lists.scores({ service: [serviceName], ...filters }, asked);
      return { next, values: items.map(({ score }) => score) };
    };
    const last = await list({}, { limit: 1 });
    expect(last.values).toEqual([0.3]);
    const further = await list({}, { after: last.next ?? undefined });
    expect(further).toEqual({ next: null, values: [0.2, 0.1] });
    expect((await list({ max: 0.2 })).values).toEqual([0.2, 0.1]);
    expect((await list({ sinceMs: 1_763_700_000_003 })).values).toEqual([0.3]);
    const first = await list({}, { limit: 2, order: 'scored_first' });
    expect(first.values).toEqual([0.1, 0.2]);
    const rest = await list({}, { order: 'scored_first', after: first.next ?? undefined });
    expect(rest.values).toEqual([0.3]);
    expect((await list({ scorer: ["none' OR '1' = '1"] })).values).toEqual([]);
    expect((await list({ source: ['human'] })).values).toEqual([]);
    expect((await list({ tenant: 'x' })).values).toEqual([]);
  });
});

test('the verdicts on a scorer by people follow its direction, where their scores have none', async () => {
  const scorer = 'falling';
  const run = { scorer, traceId: newTraceId(), scoreMin: 0, scoreMax: 1 };
  const human = {
    ...run,
    source: 'human',
    scoredBy: 'ann',
    fingerprint: 'people',
    higherIsBetter: null,
  } as const;
  const older = {
    ...run,
    traceId: newTraceId(),
    fingerprint: 'old',
    scoredAt: Date.now() - 60_000,
    score: 0.9,
  };
  await it.store.scores.write([
    buildScore({
      ...run,
      fingerprint: 'new',
      scorerVersion: '2',
      judgeModel: 'j',
      score: 0.2,
      higherIsBetter: false,
    }),
    buildScore({ ...human, score: 0.1 }),
    buildScore({ ...older, scorerVersion: '1', judgeModel: '', higherIsBetter: false }),
  ]);
  const { versions, rows, higherIsBetter } = await it.store.labels.judged({
    scorer,
    sinceMs: 0,
    passLine: 0.5,
  });
  expect(higherIsBetter).toBe(false);
  expect(versions).toEqual([
    { fingerprint: 'new', scorerVersion: '2', judgeModel: 'j', higherIsBetter: false, scores: 1 },
    { fingerprint: 'old', scorerVersion: '1', judgeModel: '', higherIsBetter: false, scores: 1 },
  ]);
  const verdicts = rows.map(({ fingerprint, passes, people, n }) => ({ fingerprint, passes, people, n }));
  expect(verdicts).toHaveLength(3);
  expect(verdicts).toEqual(
    expect.arrayContaining([
      { fingerprint: 'new', passes: true, people: null, n: 1 },
      { fingerprint: 'old', passes: false, people: null, n: 1 },
      { fingerprint: 'new', passes: true, people: true, n: 1 },
    ]),
  );
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

  const buildEntry = (parts: Partial<SpendEntry>): SpendEntry => ({
    kind: 'call',
    scope: '',
    rule: 'r',
    costUsd: 0.25,
    atMs: 5000,
    tenant: 't',
    scoreId: 's1',
    leaseId: 'l1',
    entryId: randomUUID(),
    ...parts,
  });

  test('money is summed by rule and time, and an entry counts once, also when it is repeated beside others', async () => {
    const entry = buildEntry({});
    const second = buildEntry({ costUsd: 0.5, atMs: 6000 });
    await it.store.judgeCalls.spend([entry]);
    await it.store.judgeCalls.spend([entry]);
    await it.store.judgeCalls.spend([second, entry, buildEntry({ rule: 'other' })]);
    const booked = async (rule: string, fromMs: number, toMs: number) =>
      (await it.store.judgeCalls.readSpending({ kind: 'rule', name: rule }, { fromMs, toMs, openSinceMs: 0 }))
        .bookedUsd;
    expect(await booked('r', 0, 7000)).toBe(0.75);
    expect(await booked('r', 6000, 7000)).toBe(0.5);
    expect(await booked('r', 0, 6000)).toBe(0.25);
    expect(await booked('nobody', 0, 7000)).toBe(0);
  });

  test('leased money is reserved by running processes, and spent when its process has ended', async () => {
    const lease = { rule: 'leased', kind: 'lease', tenant: '', scoreId: '' } as const;
    await it.store.judgeCalls.spend([
      buildEntry({ ...lease, leaseId: 'runs', costUsd: 1 }),
      buildEntry({ rule: 'leased', leaseId: 'runs', costUsd: 0.25, atMs: 9000 }),
      buildEntry({ ...lease, leaseId: 'runs', costUsd: -0.25, atMs: 9000 }),
      buildEntry({ ...lease, leaseId: 'ended', costUsd: 2, atMs: 4000 }),
    ]);
    const range = { fromMs: 0, toMs: 10_000, openSinceMs: 8000 };
    expect(await it.store.judgeCalls.readSpending({ kind: 'rule', name: 'leased' }, range)).toEqual({
      bookedUsd: 3,
      reservedUsd: 0.75,
    });
  });

  test('a call counts in the budgets of its rule, of its tenant and of the installation; a lease counts in one', async () => {
    const atMs = 5 * 86_400_000;
    const range = { fromMs: atMs, toMs: atMs + 1_000, openSinceMs: atMs };
    const calls = [
      { rule: 'a', tenant: 'x', costUsd: 1 },
      { rule: 'a', tenant: 'y', costUsd: 2 },
      { rule: 'b', tenant: 'x', costUsd: 4 },
    ];
    const lease = { kind: 'lease', scoreId: '', leaseId: 'l2' } as const;
    await it.store.judgeCalls.spend([
      ...calls.map((call) => buildEntry({ ...call, atMs })),
      buildEntry({ ...lease, atMs, rule: 'a', tenant: '', costUsd: 8 }),
      buildEntry({ ...lease, atMs, scope: 'tenant', rule: '', tenant: 'x', costUsd: 16 }),
      buildEntry({ ...lease, atMs, scope: 'total', rule: '', tenant: '', costUsd: 32 }),
    ]);
    const budgets = [
      { kind: 'rule', name: 'a', spentUsd: 3, reservedUsd: 8 },
      { kind: 'rule', name: 'b', spentUsd: 4, reservedUsd: 0 },
      { kind: 'tenant', name: 'x', spentUsd: 5, reservedUsd: 16 },
      { kind: 'tenant', name: 'y', spentUsd: 2, reservedUsd: 0 },
      { kind: 'total', name: '', spentUsd: 7, reservedUsd: 32 },
    ] as const;
    const reader = createBudgetReader(
      it.store.judgeCalls,
      budgets.map(({ kind, name }) => ({ scope: { kind, name }, caps: { perDay: 1_000 } })),
    );
    expect(await reader.read(atMs)).toMatchObject(
      budgets.map(({ kind, name, ...usd }) => ({ scope: { kind, name }, ...usd })),
    );
    for (const { spentUsd, reservedUsd, ...scope } of budgets) {
      expect(await it.store.judgeCalls.readSpending(scope, range)).toEqual({
        bookedUsd: spentUsd + reservedUsd,
        reservedUsd,
      });
    }
  });

  test('judge calls are kept, with the sizes of those that were billed', async () => {
    const call = {
      tenant: '',
      traceId: newTraceId(),
      scoreId: 's',
      scorer: 'hallucination',
      step: 'verdicts',
      model: 'openai/x',
      servedModel: '',
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
    const billed = { ...call, tenant: 'sized', outputTokens: 3, costUsd: null };
    const again = { ...billed, prompt: 'pé Again: n', step: 'verdicts', calledAtMs: call.calledAtMs + 1 };
    await it.store.judgeCalls.write([again, billed, { ...billed, status: 'failed' }]);
    const ask = { tenant: 'sized', scorers: ['hallucination'], repeatMark: 'Again: ' };
    const { tenant, traceId, scoreId, scorer, step, model, calledAtMs } = billed;
    const names = { tenant, traceId, scoreId, scorer, step, model };
    const size = { ...names, inputTokens: 10, outputTokens: 3, costUsd: null, durationMs: 12.5, calledAtMs };
    expect(await it.store.judgeUse.sizes({ ...ask, limit: 10 })).toEqual([
      { ...size, promptBytes: 1, isRepeat: false },
      { ...size, promptBytes: 12, isRepeat: true, calledAtMs: again.calledAtMs },
    ]);
    expect(await it.store.judgeUse.sizes({ ...ask, limit: 10, scorers: ['other'] })).toEqual([]);
  });
});

describe('the first targets of a version', () => {
  const buildVersion = (): VersionKey => ({
    tenant: 't',
    rule: 'r',
    service: randomUUID(),
    agent: 'weather',
    serviceVersion: '2.0',
    agentVersion: '',
  });
  const readTargets = async (key: VersionKey) =>
    (await it.store.versionSamples.read([key])).get(joinVersionKey(key))?.targets;

  test('are added by one of two processes that have read the same', async () => {
    const key = buildVersion();
    const names = Array.from({ length: 8 }, (_, index) => `t${index}`);
    await Promise.all(
      names.map((name) => it.store.versionSamples.append(key, 0, { slots: 9, targets: [name] })),
    );
    expect(await readTargets(key)).toHaveLength(1);
  });

  test('are together as many as asked for, however many processes choose at once', async () => {
    const key = buildVersion();
    const processes = [1, 2, 3].map(() => new NewVersions(it.store.versionSamples, silentLog));
    const asks = Array.from({ length: 24 }, (_, index) => ({
      ...key,
      versions: [key],
      target: `t${index}`,
      slots: 7,
      sinceMs: 0,
    }));
    const taken = await Promise.all(asks.map((ask, index) => processes[index % 3]!.take(ask)));
    const chosen = asks.filter((_, index) => taken[index]).map(({ target }) => target);
    expect(await readTargets(key)).toHaveLength(7);
    expect((await readTargets(key))?.toSorted()).toEqual(chosen.toSorted());
    const restarted = new NewVersions(it.store.versionSamples, silentLog);
    expect(await restarted.find(asks)).toEqual(taken.map((isTaken) => (isTaken ? 'first' : 'late')));
  });

  test('are none for a version with a run from before', async () => {
    const key = buildVersion();
    const run = { ...buildRunRecord({ tenant: 't' }), serviceName: key.service, serviceVersion: '2.0' };
    await it.store.runs.write([run]);
    const ask = { ...key, versions: [key], target: 't1', slots: 7 };
    const { versionSamples } = it.store;
    const versions = new NewVersions(versionSamples, silentLog);
    expect(await versions.take({ ...ask, sinceMs: run.evidenceUntil + 1 })).toBe(false);
    expect((await versionSamples.read([key])).get(joinVersionKey(key))).toEqual({ slots: 0, targets: [] });
    const [other] = [{ ...key, serviceVersion: '3.0' }];
    expect(await versions.take({ ...ask, versions: [other], sinceMs: run.evidenceUntil + 1 })).toBe(true);
  });
});
