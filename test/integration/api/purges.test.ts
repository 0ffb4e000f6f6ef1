import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

const ADMIN_A = tokenOf('admin', 'a');

/** Stores a trace. Returns its run. */
async function storedRun(tenant: string, fields: { sessionId?: string; userId?: string } = {}) {
  const traceId = newTraceId();
  await ingest(world.store, agentRunSpans(traceId), tenant);
  const run = buildRunRecord({ tenant, traceId, sessionId: '', userId: '', ...fields });
  await world.store.runs.write([run]);
  return run;
}

const remove = (path: string, token = ADMIN_A) => world.ask({ method: 'DELETE', path, token });
const readJob = (id: unknown, token: string) => world.ask({ path: `/jobs/${String(id)}`, token });

it.each([
  ['trace', async () => `/traces/${(await storedRun('a')).traceId}`],
  ['session', async () => (await storedRun('a', { sessionId: 'chat/1 ü' }), '/sessions/chat%2F1%20%C3%BC')],
  ['user', async () => (await storedRun('a', { userId: 'ann@example.com' }), '/users/ann%40example.com')],
])('a purge of a %s is a job, which only its tenant sees', async (kind, prepare) => {
  const path = await prepare();
  const { status, body } = await remove(path);
  expect([status, body['remains']]).toEqual([202, null]);
  const { id } = body;
  expect(await readJob(id, tokenOf('read', 'a'))).toMatchObject({
    status: 200,
    body: { id, kind: 'purge', tenant: 'a', status: 'queued', spec: { kind }, startedAt: null },
  });
  expect((await readJob(id, tokenOf('read', 'b'))).status).toBe(404);
  expect((await readJob(id, tokenOf('read'))).status).toBe(200);
  expect((await remove(path)).body['id']).toBe(id);
});

it('a tenant deletes itself, and no other tenant', async () => {
  await storedRun('a');
  await storedRun('b');
  expect((await remove('/tenants/b')).status).toBe(404);
  expect((await remove('/users/ann?tenant=b')).status).toBe(404);
  const { status, body } = await remove('/tenants/a');
  expect(status).toBe(202);
  expect((await readJob(body['id'], ADMIN_A)).status).toBe(200);
  expect((await readJob(body['id'], tokenOf('read', 'b'))).status).toBe(404);
});

it('finds nothing of another tenant, and nothing that is not there', async () => {
  const { traceId } = await storedRun('b', { userId: 'bob', sessionId: 'chat-of-bob' });
  for (const path of [`/traces/${traceId}`, '/users/bob', '/sessions/chat-of-bob', '/users/nobody']) {
    expect((await remove(path)).status).toBe(404);
  }
  expect((await remove('/users/bob', tokenOf('label', 'b'))).status).toBe(403);
  expect((await remove('/users/bob', tokenOf('admin', 'b'))).status).toBe(202);
  expect((await readJob('none', ADMIN_A)).status).toBe(404);
});

it('wants the tenant of an id that several tenants have, from a token of all tenants', async () => {
  await storedRun('c', { userId: 'eve' });
  await storedRun('d', { userId: 'eve' });
  expect(await remove('/users/eve', tokenOf('admin'))).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('several tenants') },
  });
  const { status, body } = await remove('/users/eve?tenant=c', tokenOf('admin'));
  expect(status).toBe(202);
  expect(await readJob(body['id'], tokenOf('read'))).toMatchObject({ body: { tenant: 'c' } });
});
