import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { createTenantStores } from '../../../src/api/tenant-store.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import { buildDecision, testStore, type TestStore } from '../../support/store/store-rows.ts';

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
    tokens: [token('a'), token('b')],
    findStore,
  });
});
afterAll(async () => {
  await api.stop();
  await it.stop();
});

async function ask(query: string, tenant = 'a') {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/coverage${query}`, {
    headers: { authorization: `Bearer the-read-of-tenant-${tenant}` },
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

test('refuses an unknown group and a time that cannot be read, by name', async () => {
  expect(await ask('?by=scorers')).toMatchObject({ status: 400, body: { errors: [{ path: 'by' }] } });
  const { status, body } = await ask('?since=tomorrow');
  expect(status).toBe(400);
  expect(body).toMatchObject({ detail: expect.stringContaining('since: write a time') as string });
});
