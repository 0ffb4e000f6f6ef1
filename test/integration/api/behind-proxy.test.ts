import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { fakeStore, fakeWrites } from '../../support/api/fake-store.ts';
import { sendRaw } from '../../support/api/raw-request.ts';
import { startTestApi, type TestApiOptions } from '../../support/api/start-test-api.ts';
import config from '../../fixtures/reports/01-tls-proxy/config.json' with { type: 'json' };
import requests from '../../fixtures/reports/01-tls-proxy/requests.json' with { type: 'json' };
import pages from '../../fixtures/reports/19-sub-path/pages.json' with { type: 'json' };

const TOKEN = config.auth.tokens[0]?.token ?? '';
const TOKENS = [{ name: 'op', token: TOKEN, tenant: '', scopes: ['admin' as const] }];
const PUBLIC = 'https://scores.example.com';
const DASHBOARD = {
  document: '<script type="module" src="./assets/index-1.js"></script><link href="./assets/index-1.css">',
  assets: new Map(
    ['index-1.js', 'index-1.css'].map((name) => [
      name,
      { contentType: 'text/plain', content: new TextEncoder().encode(name), compressed: {} },
    ]),
  ),
};

let api: ApiServer;
let proxy: Server | undefined;

afterEach(async () => {
  await api.stop();
  proxy?.close();
  proxy = undefined;
});

async function start(options: TestApiOptions = {}): Promise<void> {
  const writes = fakeWrites();
  const store = fakeStore({
    openWrites: async () => ({ ...writes, scores: { ...writes.scores, post: async () => ['id'] } }),
  });
  api = await startTestApi({
    tokens: TOKENS,
    dashboard: DASHBOARD,
    findStore: () => store,
    ...options,
  });
}

/** Starts a proxy under `/spanscore/`. Returns its port. */
async function startProxy(keepsPath: boolean): Promise<number> {
  proxy = createServer((asked, reply) => {
    const { url = '', method } = asked;
    const path = keepsPath ? url : url.replace(/^\/spanscore/u, '');
    const headers = {
      ...asked.headers,
      'x-forwarded-prefix': '/spanscore',
      'x-forwarded-host': asked.headers.host,
      'x-forwarded-proto': 'http',
      host: `127.0.0.1:${api.address.port}`,
    };
    const passed = request({ port: api.address.port, host: '127.0.0.1', path, method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    });
    asked.pipe(passed);
  });
  const listening = Promise.withResolvers<void>();
  proxy.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  return (proxy.address() as AddressInfo).port;
}

describe('behind a proxy that ends TLS', () => {
  it.each([
    ['api.publicUrl', { publicUrl: PUBLIC }],
    ['a proxy of api.trustedProxies', { hosts: config.api.hosts, trustedProxies: ['127.0.0.0/8'] }],
  ])('the dashboard signs in and writes with %s, and foreign pages do not', async (_, options) => {
    await start(options);
    for (const { name, status, ...asked } of requests) {
      const reply = await sendRaw(api.address.port, asked);
      expect([name, reply.status]).toEqual([name, status]);
    }
    const { headers } = await sendRaw(api.address.port, requests[0]!);
    expect(headers['set-cookie']?.[0]).toMatch(
      /^__Host-spanscore=.*; Path=\/; HttpOnly; Secure; SameSite=Strict/,
    );
  });

  it.each([
    ['without a switch', { hosts: config.api.hosts }],
    ['with another trusted proxy', { hosts: config.api.hosts, trustedProxies: ['10.0.0.1', '::2'] }],
  ])('%s, the refusal names the switch', async (_, options) => {
    await start(options);
    const { status, text } = await sendRaw(api.address.port, requests[0]!);
    expect([status, JSON.parse(text)]).toMatchObject([
      403,
      { detail: expect.stringContaining('api.publicUrl') },
    ]);
  });

  it.each([
    ['another name', { origin: 'https://evil.example' }, 403],
    ['the public name without TLS', { origin: 'http://scores.example.com' }, 403],
    ['the public name, from a proxy that sends its own host', { host: '127.0.0.1:4320' }, 201],
    ['a page of this machine', { host: '127.0.0.1:1', origin: 'http://127.0.0.1:1' }, 201],
    [
      'a host that a foreign name was pointed at',
      { host: 'evil.example', origin: 'https://evil.example' },
      403,
    ],
  ])('with api.publicUrl, a page of %s gets its due', async (_, headers, expected) => {
    await start({ publicUrl: PUBLIC });
    const asked = { ...requests[1]!, headers: { ...requests[1]!.headers, ...headers } };
    expect((await sendRaw(api.address.port, asked)).status).toBe(expected);
  });

  it('a trusted proxy cannot bring an unknown host', async () => {
    await start({ hosts: config.api.hosts, trustedProxies: ['127.0.0.1'] });
    const headers = { ...requests[1]!.headers, 'x-forwarded-host': 'scores.example.com, evil.example' };
    expect((await sendRaw(api.address.port, { ...requests[1]!, headers })).status).toBe(403);
  });

  it('replies tell browsers to stay with TLS', async () => {
    await start({ publicUrl: PUBLIC });
    const { headers } = await sendRaw(api.address.port, { method: 'GET', path: '/docs', headers: {} });
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });
});

describe('under a path of a proxy', () => {
  it.each([
    ['removes the path', false, {}],
    ['removes the path and is trusted', false, { trustedProxies: ['127.0.0.1'] }],
    ['removes the path of api.publicUrl', false, { publicUrl: `${PUBLIC}/spanscore/` }],
    ['keeps the path of api.publicUrl', true, { publicUrl: `${PUBLIC}/spanscore` }],
  ])('pages name assets inside the path, for a proxy that %s', async (_, keepsPath, options) => {
    await start(options);
    const url = `http://127.0.0.1:${await startProxy(keepsPath)}`;
    for (const path of pages) {
      const page = await fetch(url + path);
      expect([path, page.status]).toEqual([path, 200]);
      const named = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/gu)].map(
        ([, address = '']) => new URL(address, url + path),
      );
      expect(named.map(({ pathname }) => pathname)).toEqual([
        '/spanscore/assets/index-1.js',
        '/spanscore/assets/index-1.css',
      ]);
      for (const asset of named) {
        expect((await fetch(asset)).status).toBe(200);
      }
    }
  });

  it('the cookie of a sign-in is for this path, and the next requests bring it', async () => {
    await start({ publicUrl: `${PUBLIC}/spanscore` });
    const port = await startProxy(false);
    const signedIn = await sendRaw(port, { ...requests[0]!, path: '/spanscore/api/v1/session' });
    const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^__Secure-spanscore=.*; Path=\/spanscore; HttpOnly; Secure; SameSite=Strict/);
    const headers = { cookie: cookie.split(';')[0] ?? '', 'sec-fetch-site': 'same-origin' };
    const reply = await sendRaw(port, { method: 'GET', path: '/spanscore/api/v1/session', headers });
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([200, { proof: 'cookie' }]);
  });
});
