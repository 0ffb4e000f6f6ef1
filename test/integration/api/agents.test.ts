import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { refreshAggregates } from '../../../src/aggregates/refresh-aggregates.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { createTenantStores } from '../../../src/api/tenant-store.ts';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import type { Score } from '../../../src/domain/score.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import {
  buildDecision,
  buildScore,
  buildSpan,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { store as storeSpans } from '../../support/store/stored-agent.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Start of the present hour. */
const NOW_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

const token = (tenant: string) => ({
  name: tenant,
  token: `the-read-of-tenant-${tenant}`,
  tenant,
  scopes: ['read' as const],
});

let it: TestStore;
let api: ApiServer;

/** Facts of an agent that a run and its scores share. */
const SUPPORT = { tenant: 'a', agent: 'support-agent', serviceName: 'desk', environment: 'production' };

/** Builds a run that began at a time, with a score of `hallucination`. */
function runAt(startedAt: number, score: number, fields: Partial<RunRecord> = {}): [RunRecord, Score] {
  const traceId = newTraceId();
  const run = buildRunRecord({
    ...SUPPORT,
    traceId,
    startedAt,
    models: ['gpt-5-mini'],
    costUsd: 0.01,
    toolErrors: 0,
    userId: 'ann',
    ...fields,
  });
  const { tenant, agent, serviceName, serviceVersion, agentVersion, environment, userId } = run;
  const own = { tenant, agent, serviceName, serviceVersion, agentVersion, environment, userId, traceId };
  const scorer = { scorer: 'hallucination', higherIsBetter: false, weight: 1, traceTimestamp: startedAt };
  return [run, buildScore({ ...own, ...scorer, score, day: new Date(startedAt).toISOString().slice(0, 10) })];
}

const CALL = {
  scoreId: '',
  step: 'judge',
  model: 'openai/gpt-5',
  servedModel: '',
  status: 'success',
  prompt: '',
  reply: '',
  error: '',
  inputTokens: 10,
  outputTokens: 2,
  durationMs: 5,
  calledAtMs: Date.now(),
} as const;

beforeAll(async () => {
  it = await testStore();
  const many = (n: number, build: (index: number) => [RunRecord, Score]) =>
    Array.from({ length: n }, (_, index) => build(index));
  const pairs = [
    ...many(100, (index) => runAt(NOW_MS - 3 * DAY_MS, index < 5 ? 0.5 : 0, { agentVersion: '1.4.0' })),
    // A score of 0.5 is `hallucinated`: it fails.
    ...many(40, (index) =>
      runAt(NOW_MS - 2 * HOUR_MS, index < 16 ? 0.5 : 0, {
        agentVersion: '1.5.0',
        toolErrors: index < 4 ? 1 : 0,
        userId: index < 10 ? 'bob' : 'ann',
        ...(index < 2 ? { models: ['house-model'], costUsd: null } : {}),
      }),
    ),
    ...many(3, () =>
      runAt(NOW_MS - HOUR_MS, 0, {
        agent: '',
        serviceName: 'nameless',
        agentVersion: '',
        serviceVersion: '7',
      }),
    ),
    ...many(2, () => runAt(NOW_MS - HOUR_MS, 1, { tenant: 'b', environment: 'staging' })),
  ];
  await it.store.runs.write(pairs.map(([run]) => run));
  await it.store.scores.write(pairs.map(([, score]) => score));
  const [traced] = pairs[100] ?? [];
  const tool = (statusCode: 'Ok' | 'Error') =>
    buildSpan({
      traceId: traced?.traceId ?? '',
      name: 'execute_tool search',
      attributes: new Map([
        ['gen_ai.operation.name', 'execute_tool'],
        ['gen_ai.tool.name', 'search'],
      ]),
      statusCode,
      durationNano: 2_000_000_000n,
    });
  await storeSpans(it.store, [tool('Ok'), tool('Error'), buildSpan({ traceId: traced?.traceId ?? '' })], 'a');
  const of = { tenant: 'a', traceId: traced?.traceId ?? '', scorer: 'hallucination' };
  await it.store.decisions.write([buildDecision({ ...of, rule: 'production' })]);
  await it.store.judgeCalls.write([
    { ...CALL, ...of, costUsd: 0.5 },
    { ...CALL, ...of, scorer: 'bias', costUsd: null },
    { ...CALL, ...of, tenant: 'b', costUsd: 7 },
  ]);
  await refreshAggregates(it.store.aggregates);
  const findStore = await createTenantStores({ config: parseConfig({}), store: it.store });
  api = await startTestApi({ tokens: [token('a'), token('b')], findStore });
});
afterAll(async () => {
  await api.stop();
  await it.stop();
});

async function ask(path: string, tenant = 'a') {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/${path}`, {
    headers: { authorization: `Bearer the-read-of-tenant-${tenant}` },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const rate = (value: number, n: number) => ({
  value: expect.closeTo(value) as number,
  n,
  effectiveN: expect.closeTo(n) as number,
});

describe('GET /agents', () => {
  test('gives the runs, versions and pass rates of each agent, beside the 14 days before', async () => {
    const { status, body } = await ask('agents?since=24h');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      next: null,
      items: [
        {
          agent: 'support-agent',
          service: 'desk',
          runs: 40,
          versions: [{ version: '1.5.0', runs: 40, firstSeen: new Date(NOW_MS - 2 * HOUR_MS).toISOString() }],
          qualities: [
            {
              scorer: 'hallucination',
              isDeclared: true,
              pass: {
                ...rate(24 / 40, 40),
                low: expect.closeTo(0.446, 2) as number,
                high: expect.closeTo(0.737, 2) as number,
              },
              before: rate(0.95, 100),
              change: expect.closeTo(-0.35) as number,
              significant: true,
              points: expect.toSatisfy(
                (points: unknown[]) =>
                  points.length === 24 && points.filter((each) => each === null).length === 23,
              ) as number[],
            },
          ],
          toolErrors: rate(0.1, 40),
          costUsd: expect.closeTo(0.38) as number,
          unpricedModels: ['house-model'],
          p95Ms: 1_500.5,
        },
        {
          agent: 'nameless',
          runs: 3,
          versions: [{ version: '7' }],
          qualities: [{ before: null, change: null, significant: false }],
        },
      ],
    });
  });

  test('shows a tenant its own agents only, and those of the asked environment', async () => {
    expect((await ask('agents', 'b')).body).toMatchObject({ items: [{ agent: 'support-agent', runs: 2 }] });
    expect((await ask('agents?environment=staging')).body).toMatchObject({ items: [] });
    expect((await ask('agents?agent=nameless')).body).toMatchObject({ items: [{ agent: 'nameless' }] });
  });
});

test('an agent has its tools, models, users and the pass rates of its versions', async () => {
  const { status, body } = await ask('agents/support-agent?since=7d');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    runs: 140,
    versions: [
      { version: '1.5.0', runs: 40, qualities: [{ scorer: 'hallucination', pass: rate(0.6, 40) }] },
      { version: '1.4.0', runs: 100, qualities: [{ scorer: 'hallucination', pass: rate(0.95, 100) }] },
    ],
    tools: [{ name: 'search', calls: 2, errors: 1, p95Ms: 2_000 }],
    models: [
      { model: 'gpt-5-mini', runs: 138, costUsd: expect.closeTo(1.38) as number },
      { model: 'house-model', runs: 2, costUsd: null },
    ],
    users: [
      { userId: 'ann', runs: 130, failing: 11 },
      { userId: 'bob', runs: 10, failing: 10 },
    ],
  });
});

test('two versions of an agent are compared over all of their runs', async () => {
  const { body } = await ask('agents/support-agent/versions?left=1.4.0&right=1.5.0');
  expect(body).toMatchObject({
    left: { version: '1.4.0', runs: 100, tokens: 224, p50Ms: 1_500.5 },
    right: { version: '1.5.0', runs: 40 },
    items: [
      {
        scorer: 'hallucination',
        left: rate(0.95, 100),
        right: rate(0.6, 40),
        evidenceLog10: expect.toSatisfy((value: number) => value > 3) as number,
        verdict: 'worse',
      },
    ],
  });
  expect((await ask('agents/support-agent/versions?left=1.5.0&right=1.4.0')).body).toMatchObject({
    items: [{ verdict: 'better' }],
  });
});

test.each(['agents/nobody', 'agents/nobody/versions?left=1&right=2'])('%s is not found', async (path) => {
  expect(await ask(path)).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('nobody') as string },
  });
});

describe('GET /costs', () => {
  const today = new Date(Math.floor(CALL.calledAtMs / DAY_MS) * DAY_MS).toISOString();

  test.each([
    ['agent', { key: 'support-agent', judgeUsd: 0.5 }],
    ['agentVersion', { key: '1.5.0', judgeUsd: 0.5 }],
    ['model', { key: 'openai/gpt-5', judgeUsd: 0.5, agentUsd: null }],
    ['rule', { key: 'production', judgeUsd: 0.5, agentUsd: null, runs: 1, unpriced: 0 }],
    ['scorer', { key: 'hallucination', judgeUsd: 0.5, runs: 1 }],
  ])('splits the money of judges by %s, within the tenant', async (by, expected) => {
    const { status, body } = await ask(`costs?by=${by}&bucket=1d`);
    expect(status).toBe(200);
    const items = (body['items'] as readonly { bucket: string; judgeUsd: number | null }[]).filter(
      ({ judgeUsd }) => judgeUsd !== null,
    );
    expect(items).toMatchObject([{ ...expected, bucket: today }]);
  });

  test('sums the money of agents by day, and counts the runs without a price', async () => {
    const { body } = await ask('costs?by=agent&since=1d&agent=support-agent');
    const items = body['items'] as readonly { agentUsd: number; runs: number; unpriced: number }[];
    const add = (read: (item: (typeof items)[number]) => number) =>
      items.reduce((sum, item) => sum + read(item), 0);
    expect([
      add(({ agentUsd }) => agentUsd),
      add(({ runs }) => runs),
      add(({ unpriced }) => unpriced),
    ]).toEqual([expect.closeTo(0.38), 40, 2]);
  });

  test('keeps to the asked agent, with every judge call about its runs', async () => {
    const { items } = (await ask('costs?by=scorer&agent=support-agent')).body;
    expect(items).toMatchObject([
      { key: 'bias', judgeUsd: null, unpriced: 1 },
      { key: 'hallucination', judgeUsd: 0.5, unpriced: 0 },
    ]);
    expect((await ask('costs?by=scorer&agent=nameless')).body).toMatchObject({ items: [] });
  });
});
