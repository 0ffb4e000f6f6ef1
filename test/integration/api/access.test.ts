import { afterEach, describe, expect, it } from 'vitest';
import type { TenantStore } from '../../../src/api/tenant-store.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import type { DeployMarker } from '../../../src/domain/deploy-marker.ts';
import { NotFoundError, QueryStoppedError } from '../../../src/domain/errors.ts';
import { SCOPES, type AccessToken, type Scope } from '../../../src/config/access.ts';
import { ROUTES, type DescribedRoute } from '../../support/api/described-routes.ts';
import { buildRequest, unknownValues } from '../../support/api/route-cases.ts';
import { tokenOf } from '../../support/api/api-world.ts';
import { fakeStore, fakeWrites } from '../../support/api/fake-store.ts';
import { sendHead, sendRaw } from '../../support/api/raw-request.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import browser from '../../fixtures/attacks/browser.json' with { type: 'json' };

let api: ApiServer;

afterEach(() => api.stop());

const TOKENS: AccessToken[] = [
  { name: 'reader', token: 'the-reader-of-tenant-a', tenant: 'a', scopes: ['read'] },
  { name: 'admin', token: 'the-admin-of-tenant-b', tenant: 'b', scopes: ['admin'] },
  { name: 'sender', token: 'the-sender-of-tenant-a', tenant: 'a', scopes: ['ingest'] },
  { name: 'operator', token: 'the-reader-of-no-tenant', tenant: '', scopes: ['read'] },
];

async function start(tokens: readonly AccessToken[]) {
  api = await startTestApi({
    tokens,
    findStore: ({ tenant = 'any' }) => {
      const marker: DeployMarker = {
        tenant,
        service: 'shop',
        agent: '',
        serviceVersion: 'v1',
        agentVersion: '',
        origin: 'api',
        atMs: 0,
      };
      return fakeStore({
        markers: { list: async () => ({ items: [marker], next: null }), compare: async () => [] },
        openWrites: async () => fakeWrites({ markers: { record: async (added) => ({ ...added, tenant }) } }),
      });
    },
  });
}

/** Routes that need the scope of their name. */
const PATHS: Record<string, string> = { '/read': '/api/v1/markers', '/admin': '/api/v1/markers' };

async function ask(path: string, token?: string) {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const write = {
    method: 'POST',
    body: JSON.stringify({ service: 'shop', version: 'v2' }),
    headers: { ...headers, 'content-type': 'application/json' },
  };
  const url = `http://127.0.0.1:${api.address.port}${PATHS[path] ?? path}`;
  const response = await fetch(url, path === '/admin' ? write : { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as object };
}

/** Scopes of the routes that do not follow the rule: a read needs the scope read, and a write admin. */
const OTHER_SCOPES: Readonly<Record<string, readonly Scope[]>> = {
  'post /session': ['read'],
  'delete /session': ['read'],
  'get /labels/queue': ['read', 'label'],
  'post /labels': ['label'],
  'post /scores': ['label'],
};

/** Routes of the whole installation, which a token of one tenant does not reach. */
const OF_ALL_TENANTS = ['post /config/apply', 'post /config/reload'];
const NOT_OF_TENANT = 'the configuration is of all tenants: use a token without a tenant';

/** Asks a route about nothing, with a token of a scope and a tenant. A store that is reached names its tenant. */
async function reach(route: DescribedRoute, scope: Scope, tenant: string): Promise<string> {
  const token = tokenOf(scope, tenant);
  const { method = 'GET', path, body } = buildRequest(route, { ...unknownValues(), token });
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { tenant: own = '', detail } = (await response.json()) as { tenant?: string | null; detail?: string };
  return detail ?? `the store of ${own ?? 'all'}`;
}

describe('a route of the API', () => {
  it('is for tokens with its scope, within their tenant; the others hear which scope they lack', async () => {
    const tokens = ['a', ''].flatMap((tenant) =>
      SCOPES.map((scope) => ({ name: scope, token: tokenOf(scope, tenant), tenant, scopes: [scope] })),
    );
    api = await startTestApi({
      tokens,
      findStore: ({ name, tenant = 'all' }) => {
        if (name === '') {
          return fakeStore();
        }
        throw new NotFoundError(`the store of ${tenant}`);
      },
    });
    const found: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const route of ROUTES) {
      const needed = OTHER_SCOPES[route.name] ?? [route.method === 'get' ? 'read' : 'admin'];
      const reaches = tokens.map(async ({ name: scope, tenant }) => {
        const implied: readonly Scope[] = scope === 'admin' ? ['admin', 'read', 'label'] : [scope];
        const isFor = needed.some((each) => implied.includes(each));
        const lacks = `the bearer token ${scope} lacks the scope ${needed.at(-1)}`;
        const isAlone = tenant !== '' && OF_ALL_TENANTS.includes(route.name);
        const name = `${route.name} with ${scope} of ${tenant || 'all'}`;
        expected[name] = !isFor ? lacks : isAlone ? NOT_OF_TENANT : `the store of ${tenant || 'all'}`;
        found[name] = await reach(route, scope, tenant);
      });
      await Promise.all(reaches);
    }
    expect(found).toEqual(expected);
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
    expect(await ask('/admin')).toMatchObject({ status: 201, body: { tenant: 'any' } });
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

  it('exists only where the process has the role api, the page of the routes too', async () => {
    for (const [findStore, expected] of [
      [() => 'none' as const, 404],
      [() => fakeStore(), 200],
    ] as const) {
      api = await startTestApi({ findStore });
      const { port } = api.address;
      expect((await fetch(`http://127.0.0.1:${port}/docs`)).status).toBe(expected);
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
      await api.stop();
    }
    await start([]);
  });

  it('gives health and readiness to everybody', async () => {
    await start(TOKENS);
    expect((await ask('/healthz')).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(200);
  });
});

describe('a token with more requests than api.requestsPerMinute', () => {
  it('has to wait, and no other token', async () => {
    api = await startTestApi({ tokens: TOKENS, requestsPerMinute: 2 });
    const read = (token: string) => ask('/api/v1/session', token);
    expect((await read('the-reader-of-tenant-a')).status).toBe(200);
    expect((await read('the-reader-of-tenant-a')).status).toBe(200);
    const third = await read('the-reader-of-tenant-a');
    expect(third).toMatchObject({ status: 429, body: { detail: expect.stringContaining('reader') } });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await read('the-admin-of-tenant-b')).status).toBe(200);
  });
});

describe('a query that the store stopped', () => {
  it('is answered with the filters that make it smaller', async () => {
    const stop = () => Promise.reject(new QueryStoppedError('the store stopped a query at its limit'));
    const store = fakeStore({ scores: { list: stop, listWorst: stop } as unknown as TenantStore['scores'] });
    api = await startTestApi({ findStore: () => store });
    expect(await ask('/api/v1/scores?scorer=tone')).toMatchObject({
      status: 503,
      body: {
        title: 'Query too large',
        detail:
          'the store stopped a query at its limit; make it smaller with the filter since or traceId or service',
      },
    });
  });
});

describe('a request that takes longer than its limit', () => {
  it('is answered with a problem', async () => {
    api = await startTestApi({
      maxRequestMs: 20,
      findStore: () => fakeStore({ status: () => new Promise(() => undefined) }),
    });
    expect(await ask('/api/v1/status')).toMatchObject({ status: 504, body: { title: 'Took too long' } });
  });
});

describe("a page in somebody's browser", () => {
  const url = () => `http://127.0.0.1:${api.address.port}/api/v1/markers`;
  const marker = JSON.stringify({ service: 'shop', version: 'v2' });
  const json = { 'content-type': 'application/json' };

  it.each([
    ['a foreign origin', { origin: 'https://evil.example' }],
    ['a sandboxed page', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
  ])('cannot ask from %s, with and without tokens', async (_, headers) => {
    await start([]);
    expect((await fetch(url(), { headers })).status).toBe(403);
    expect(
      (await fetch(url(), { method: 'POST', body: marker, headers: { ...headers, ...json } })).status,
    ).toBe(403);
  });

  it('gets no page at all from another origin or under another name', async () => {
    await start([]);
    const { origin } = new URL(url());
    expect((await fetch(`${origin}/docs`, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    expect(await askAs('evil.example', '/docs')).toBe(403);
  });

  it('may ask from our own origin', async () => {
    await start([]);
    const { origin } = new URL(url());
    expect((await fetch(url(), { method: 'POST', body: marker, headers: { origin, ...json } })).status).toBe(
      201,
    );
  });

  it('cannot send a form', async () => {
    await start([]);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await fetch(url(), { method: 'POST', body: marker, headers: { 'content-type': type } });
      expect(answer.status).toBe(403);
    }
  });

  it('needs the content type of a write also without a body, and a program does not', async () => {
    await start([]);
    const reload = async (headers: Record<string, string>) => {
      const path = `http://127.0.0.1:${api.address.port}/api/v1/config/reload`;
      return (await fetch(path, { method: 'POST', headers })).status;
    };
    expect(await reload({ origin: `http://127.0.0.1:${api.address.port}` })).toBe(403);
    expect(await reload({})).toBe(404);
  });

  it('cannot ask through a name that was rebound to this address', async () => {
    await start([]);
    expect(await askAs('evil.example')).toBe(403);
    expect(await askAs('localhost')).toBe(200);
    expect(await askAs('[::1]')).toBe(200);
    expect([await askAs('0.0.0.0'), await askAs('[::]')]).toEqual([403, 403]);
    await api.stop();
    api = await startTestApi({ hosts: ['scores.example'] });
    expect(await askAs('scores.example', '/api/v1/status')).toBe(200);
    expect(await askAs('evil.example', '/healthz')).toBe(200);
  });

  it('hears what is wrong with a name and a port that make no address', async () => {
    await start([]);
    const headers = { host: '127.0.0.1:99999' };
    expect(await sendHead(api.address.port, { method: 'GET', path: '/api/v1/markers', headers })).toEqual({
      status: 400,
      body: {
        type: 'about:blank',
        status: 400,
        title: 'Bad request',
        detail: expect.stringContaining('the header Host') as string,
      },
    });
  });

  it.each(
    browser.requests
      .filter(({ port }) => port === 'api')
      .map((each) => [`${each.path} ${JSON.stringify(each.headers)}`, each] as const),
  )('gets nothing by the recorded attack %s', async (_, attack) => {
    await start([]);
    expect(await sendRaw(api.address.port, attack)).toMatchObject({ status: 403 });
  });

  it.each([
    ['cross-site', '/api/v1/markers', 403],
    ['same-site', '/api/v1/markers', 403],
    ['cross-site', '/api/v1/openapi.json', 403],
    ['same-site', '/metrics', 403],
    ['same-origin', '/api/v1/markers', 200],
    ['none', '/metrics', 200],
    ['cross-site', '/docs', 200],
    ['cross-site', '/healthz', 200],
  ])('of the site "%s" that loads %s gets %s', async (site, path, expected) => {
    await start([]);
    const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(await sendRaw(api.address.port, { method: 'GET', path, headers })).toMatchObject({
      status: expected,
    });
  });

  it('cannot show replies in a frame, nor read another type into them', async () => {
    await start(TOKENS);
    for (const path of ['/docs', '/healthz', '/api/v1/openapi.json', '/api/v1/markers', '/nothing']) {
      const { headers } = await sendRaw(api.address.port, { method: 'GET', path, headers: {} });
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['strict-transport-security']).toBeUndefined();
    }
  });

  it('under a foreign name gets no metrics without tokens; with tokens, a supervisor gets them under any name', async () => {
    await start([]);
    expect(await askAs('evil.example', '/metrics')).toBe(403);
    await api.stop();
    await start(TOKENS);
    const headers = { host: 'metrics.internal', authorization: 'Bearer the-reader-of-no-tenant' };
    expect(await sendRaw(api.address.port, { method: 'GET', path: '/metrics', headers })).toMatchObject({
      status: 200,
    });
  });

  /** Asks with a `Host` header, which `fetch` does not allow. */
  async function askAs(host: string, path = '/api/v1/markers'): Promise<number> {
    const { port } = api.address;
    return (await sendRaw(port, { method: 'GET', path, headers: { host: `${host}:${port}` } })).status;
  }
});
