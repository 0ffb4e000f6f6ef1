import { afterEach, describe, expect, it } from 'vitest';
import { startApi, type Api, type Route } from '../../../src/api/api.ts';
import { metricsRoute } from '../../../src/api/metrics-route.ts';
import { sendJson } from '../../../src/api/problem.ts';
import { createAccessCheck, type AccessToken } from '../../../src/config/access.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

let api: Api;

afterEach(() => api.stop());

const TOKENS: AccessToken[] = [
  { name: 'reader', token: 'the-reader-of-tenant-a', tenant: 'a', scopes: ['read'] },
  { name: 'admin', token: 'the-admin-of-tenant-b', tenant: 'b', scopes: ['admin'] },
  { name: 'sender', token: 'the-sender-of-tenant-a', tenant: 'a', scopes: ['ingest'] },
  { name: 'operator', token: 'the-reader-of-no-tenant', tenant: '', scopes: ['read'] },
];

const ROUTES: Route[] = (['read', 'admin'] as const).map((scope) => ({
  method: scope === 'read' ? 'GET' : 'POST',
  path: `/${scope}`,
  scope,
  handle: (_, response, { tenant }) => sendJson(response, 200, { tenant: tenant ?? 'any' }),
}));

async function start(tokens: readonly AccessToken[]) {
  const checkAccess = createAccessCheck(tokens);
  api = await startApi({
    host: '127.0.0.1',
    port: 0,
    checkAccess,
    checks: () => [],
    routes: () => ({ ready: [...ROUTES, metricsRoute(async () => 'a 1\n')], isStarting: false }),
    log: silentLog,
  });
}

async function ask(path: string, token?: string) {
  const method = path === '/admin' ? 'POST' : 'GET';
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${api.address.port}${path}`, { method, headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as object };
}

describe('a route of the API', () => {
  it('is for tokens with its scope, within their tenant; admin may read', async () => {
    await start(TOKENS);
    expect(await ask('/read', 'the-reader-of-tenant-a')).toMatchObject({
      status: 200,
      body: { tenant: 'a' },
    });
    expect(await ask('/read', 'the-admin-of-tenant-b')).toMatchObject({ status: 200, body: { tenant: 'b' } });
    expect(await ask('/admin', 'the-admin-of-tenant-b')).toMatchObject({
      status: 200,
      body: { tenant: 'b' },
    });
  });

  it('refuses tokens without its scope, naming it', async () => {
    await start(TOKENS);
    for (const [path, token, fault] of [
      ['/admin', 'the-reader-of-tenant-a', 'reader lacks the scope admin'],
      ['/read', 'the-sender-of-tenant-a', 'sender lacks the scope read'],
    ] as const) {
      const answer = await ask(path, token);
      expect(answer).toMatchObject({
        status: 403,
        body: { detail: `the bearer token ${fault}` },
      });
    }
  });

  it.each([undefined, 'the-reader-of-tenant-A', 'the-reader-of-tenant-a-'])(
    'refuses who brings no token that is known: %s',
    async (token) => {
      await start(TOKENS);
      const answer = await ask('/read', token);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    },
  );

  it('is for everybody and all tenants where there are no tokens', async () => {
    await start([]);
    expect(await ask('/admin')).toMatchObject({ status: 200, body: { tenant: 'any' } });
  });

  it('gives metrics only to readers without a tenant, because they are totals over all tenants', async () => {
    await start(TOKENS);
    const url = `http://127.0.0.1:${api.address.port}/metrics`;
    const asked = await fetch(url, { headers: { authorization: 'Bearer the-reader-of-no-tenant' } });
    expect([asked.status, await asked.text()]).toEqual([200, 'a 1\n']);
    expect(await ask('/metrics', 'the-reader-of-tenant-a')).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('totals over all tenants') },
    });
    expect((await ask('/metrics', 'the-sender-of-tenant-a')).status).toBe(403);
    expect((await ask('/metrics')).status).toBe(401);
  });

  it('gives health and readiness to everybody', async () => {
    await start(TOKENS);
    expect((await ask('/healthz')).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(200);
  });
});
