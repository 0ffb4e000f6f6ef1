import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { createTenantStores } from '../../../src/api/tenant-store.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildDecision, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';

const token = (tenant: string) => ({
  name: tenant,
  token: `the-read-of-tenant-${tenant}`,
  tenant,
  scopes: ['read' as const],
});

let it: TestStore;
let api: ApiServer;

beforeAll(async () => {
  it = await testStore();
  const nowMs = Date.now();
  const decide = (fields: Parameters<typeof buildDecision>[0]) =>
    buildDecision({ tenant: 'a', rule: 'live', scorer: 'tone', evidenceUntil: nowMs, ...fields });
  await it.store.ruleVersions.record({
    rule: 'live',
    version: '1',
    activeFromMs: nowMs - 60_000,
    probability: 0.5,
    definition: { scorers: ['tone', 'bias'] },
  });
  await it.store.decisions.write([
    decide({}),
    decide({ status: 'failed', reason: 'timeout: 30 s' }),
    decide({ scorer: '*', status: 'sampled_out', reason: 'sampled_out', weight: null, stratum: 'none' }),
    decide({ tenant: 'b' }),
  ]);
  const findStore = await createTenantStores({ config: parseConfig({}), store: it.store });
  api = await startTestApi({
    tokens: [token('a'), token('b'), token('f'), token('')],
    findStore,
  });
});
afterAll(async () => {
  await api.stop();
  await it.stop();
});

const ask = (query: string, tenant = 'a') => askAt(`coverage${query}`, tenant);

async function askAt(path: string, tenant = 'a', headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/${path}`, {
    headers: { authorization: `Bearer the-read-of-tenant-${tenant}`, ...headers },
  });
  return { status: response.status, body: await response.json() };
}

test('counts the decisions of a tenant by scorer, with those on whole rules by the stored versions of rules', async () => {
  const { status, body } = await ask('?by=scorer&since=1h');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    items: [
      {
        scorer: 'tone',
        eligible: 3,
        sampled: 2,
        scored: 1,
        failed: 1,
        sampledOut: 1,
        reasons: { failed: { timeout: 1 } },
      },
      { scorer: 'bias', eligible: 1, sampledOut: 1 },
    ],
    next: null,
  });
});

test('counts nothing of another tenant', async () => {
  const { body } = await ask('', 'b');
  expect(body).toMatchObject({ items: [{ eligible: 1, scored: 1 }] });
});

test('counts one tenant for a reader of all who names it in a header, and never another one for a reader of one', async () => {
  const named = (tenant: string) => ({ 'x-spanscore-tenant': tenant });
  const b = { body: { items: [{ eligible: 1, scored: 1 }] } };
  expect(await askAt('coverage', '', named('b'))).toMatchObject(b);
  expect(await askAt('coverage', 'b', named('a'))).toMatchObject(b);
  expect(await askAt('coverage', '', named('%'))).toMatchObject({ status: 400 });
});

test('refuses an unknown group and a time that cannot be read, by name', async () => {
  expect(await ask('?by=scorers')).toMatchObject({ status: 400, body: { errors: [{ path: 'by' }] } });
  const { status, body } = await ask('?since=tomorrow');
  expect(status).toBe(400);
  expect(body).toMatchObject({ detail: expect.stringContaining('since: write a time') as string });
});

describe('GET /coverage/funnel', () => {
  const own = (traceId: string, fields: Parameters<typeof buildDecision>[0] = {}) =>
    buildDecision({
      tenant: 'f',
      rule: 'live',
      scorer: 'tone',
      traceId,
      targetId: traceId,
      evidenceUntil: Date.now(),
      ...fields,
    });

  beforeAll(async () => {
    const ids = Array.from({ length: 5 }, newTraceId);
    const [scored = '', failed = '', out = '', filtered = '', old = ''] = ids;
    const startedAt = Date.now() - 60_000;
    const runs = [scored, failed, out, filtered].map((traceId) =>
      buildRunRecord({ tenant: 'f', traceId, startedAt, agent: traceId === failed ? 'clerk' : 'guide' }),
    );
    // It began two days ago and arrives now: the clock of the funnel is the start of the run.
    const late = buildRunRecord({ tenant: 'f', traceId: old, startedAt: startedAt - 2 * 86_400_000 });
    await it.store.runs.write([...runs, late]);
    const sampledOut = { scorer: '*', weight: null, stratum: 'none' } as const;
    await it.store.decisions.write([
      own(scored),
      own(scored, { scorer: 'bias', status: 'not_applicable', reason: 'no_content_captured: none' }),
      own(failed, { status: 'failed', reason: 'timeout: 30 s' }),
      own(failed, { scorer: 'bias', status: 'failed', reason: 'timeout: 30 s' }),
      own(failed, { rule: 'backfill:1', status: 'failed', reason: 'bug: none' }),
      own(out, { ...sampledOut, status: 'sampled_out', reason: 'sampled_out: 0.5' }),
      own(filtered, {
        ...sampledOut,
        status: 'filtered',
        reason: 'where: agent is guide, the rule wants clerk',
      }),
      own(old),
    ]);
  });

  test('counts the runs that began in the range, and what each step loses', async () => {
    const { status, body } = await askAt('coverage/funnel?since=24h', 'f');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      runs: 4,
      arrived: 8,
      eligible: 6,
      sampled: 4,
      scored: 1,
      losses: [
        { after: 'arrived', reason: 'where', count: 2, runs: 1, mend: 'rules.live.where' },
        { after: 'eligible', reason: 'sampled_out', count: 2, runs: 1, mend: 'rules.live.sample.rate' },
        { after: 'sampled', reason: 'timeout', count: 2, runs: 1, mend: 'scorers.<name>.limits.timeout' },
        { after: 'sampled', reason: 'no_content_captured', count: 1, runs: 1 },
      ],
    });
    expect(await askAt('coverage/funnel?agent=clerk', 'f')).toMatchObject({
      body: { runs: 1, arrived: 2, scored: 0 },
    });
  });

  test.each([
    ['agent=clerk', { eligible: 2, failed: 2, scored: 0 }],
    ['agent=guide', { eligible: 4, failed: 0, scored: 1, sampledOut: 2, notApplicable: 1, filtered: 2 }],
    ['environment=nowhere', { eligible: 0, filtered: 0 }],
    ['service=nowhere', { eligible: 0, filtered: 0 }],
    ['service=shop', { eligible: 7, failed: 2, scored: 2, filtered: 2 }],
    ['scorer=bias', { eligible: 3, failed: 1, scored: 0, sampledOut: 1, notApplicable: 1, filtered: 1 }],
    ['rule=live', { eligible: 7, failed: 2 }],
    ['rule=backfill:1', { eligible: 1, failed: 1 }],
    [`until=${new Date(Date.now() - 3_600_000).toISOString()}`, { eligible: 0, filtered: 0 }],
  ])('and the coverage of %s has the same pairs', async (choice, counts) => {
    expect(await askAt(`coverage?since=24h&${choice}`, 'f')).toMatchObject({ body: { items: [counts] } });
  });

  test('links each loss to just its runs', async () => {
    const { body } = await askAt('coverage/funnel', 'f');
    for (const { traces, runs } of (body as { losses: { traces: string; runs: number }[] }).losses) {
      const { body: listed } = await askAt(traces.slice(1), 'f');
      expect((listed as { items: object[] }).items).toHaveLength(runs);
    }
  });
});
