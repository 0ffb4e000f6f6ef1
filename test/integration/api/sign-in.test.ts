import { afterEach, describe, expect, it } from 'vitest';
import type { AuditedWrite } from '../../../src/api/writes/audit.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import type { AccessToken } from '../../../src/config/access.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { fakeStore, fakeWrites } from '../../support/api/fake-store.ts';
import { startTestApi, type TestApiOptions } from '../../support/api/start-test-api.ts';

const TOKEN = 'the-reader-of-tenant-a';
const TOKENS: AccessToken[] = [
  { name: 'reader', token: TOKEN, tenant: 'a', scopes: ['read'] },
  { name: 'sender', token: 'the-sender-of-tenant-a', tenant: 'a', scopes: ['ingest'] },
];
const OWN = { 'sec-fetch-site': 'same-origin' };

let api: ApiServer;
let writes: AuditedWrite[];
let logged: string[];
let counted: string[];

afterEach(() => api.stop());

async function start(tokens: readonly AccessToken[] = TOKENS) {
  writes = [];
  logged = [];
  counted = [];
  api = await startTestApi(optionsOf(tokens, writes));
}

/** Returns the options of a process on the store with these writes. */
function optionsOf(tokens: readonly AccessToken[], stored: AuditedWrite[]): TestApiOptions {
  const store = fakeStore({
    openWrites: async (action, ...subjects) => {
      stored.push({ action, subjects });
      return fakeWrites();
    },
  });
  return {
    tokens,
    findStore: () => store,
    log: createLog('debug', { destination: { write: (line) => void logged.push(line) } }),
    onCount: (name, _, labels) => void counted.push(`${name} ${labels?.['proof']}`),
    signIns: {
      readKey: async () => 'key-of-cookies',
      hasEnded: async (id) =>
        stored.some(
          ({ action, subjects }) => action === 'session.end' && subjects.some((subject) => subject.id === id),
        ),
    },
  };
}

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask({ method = 'GET', body, headers = {} }: Asked) {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/session`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : (JSON.parse(text) as Record<string, unknown>),
  };
}

const signIn = (token: string) => ask({ method: 'POST', body: { token } });

/** Signs in. Returns the `Cookie` header of later requests. */
async function signedIn(): Promise<string> {
  const { headers } = await signIn(TOKEN);
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

describe('a sign-in', () => {
  it('gives the browser a cookie for 12 hours that no script and no other site can use', async () => {
    await start();
    const { status, headers, body } = await signIn(TOKEN);
    expect(status).toBe(201);
    expect(body).toMatchObject({ token: 'reader', tenant: 'a', scopes: ['read'], proof: 'cookie' });
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie.split('; ').slice(1).toSorted()).toEqual([
      'HttpOnly',
      'Max-Age=43200',
      'Path=/',
      'SameSite=Strict',
    ]);
    expect(cookie).not.toContain(TOKEN);
    expect(writes).toEqual([{ action: 'session.begin', subjects: [] }]);
  });

  it('lets the browser in, as the token', async () => {
    await start();
    const cookie = await signedIn();
    const { status, body } = await ask({ headers: { cookie, ...OWN } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ token: 'reader', tenant: 'a', proof: 'cookie' });
    expect(Date.parse(String(body?.['expiresAt']))).toBeGreaterThan(Date.now() + 11 * 3_600_000);
    expect((await ask({ headers: { cookie, 'sec-fetch-site': 'none' } })).status).toBe(200);
  });

  it.each(['cross-site', 'same-site', ''])('lets no page of another site in: "%s"', async (site) => {
    await start();
    const cookie = await signedIn();
    const headers: Record<string, string> = site === '' ? { cookie } : { cookie, 'sec-fetch-site': site };
    expect(await ask({ headers })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('sec-fetch-site') },
    });
  });

  it('ends with the sign-out, in every process on the store, and no other sign-in does', async () => {
    await start();
    const cookie = await signedIn();
    const other = await signedIn();
    const { status, headers } = await ask({ method: 'DELETE', headers: { cookie, ...OWN } });
    expect(status).toBe(204);
    expect(headers.get('set-cookie')).toMatch(/^spanscore=; Max-Age=0/);
    expect(writes.map(({ action }) => action)).toEqual(['session.begin', 'session.begin', 'session.end']);
    const ended = writes;
    const second = await startTestApi(optionsOf(TOKENS, ended));
    for (const process of [api, second]) {
      const read = (sent: string) =>
        fetch(`http://127.0.0.1:${process.address.port}/api/v1/session`, {
          headers: { cookie: sent, ...OWN },
        });
      expect(await (await read(cookie)).json()).toMatchObject({
        status: 401,
        detail: expect.stringContaining('sign in again'),
      });
      expect((await read(other)).status).toBe(200);
    }
    await second.stop();
  });

  it('ends when its token is removed, also with another token of the same name', async () => {
    await start();
    const cookie = await signedIn();
    await api.stop();
    await start([{ name: 'reader', token: 'another-reader-of-a', tenant: 'a', scopes: ['read'] }]);
    expect(await ask({ headers: { cookie, ...OWN } })).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining('sign in again') },
    });
  });

  it('does not last longer when somebody changes the cookie', async () => {
    await start();
    const cookie = await signedIn();
    for (const changed of [
      cookie.replace(/\.(\d+)\./u, (_, end) => `.${Number(end) + 1}.`),
      cookie.replace(/\.([\da-f])(?=[\da-f]{7}-)/u, (_, digit) => (digit === 'a' ? '.b' : '.a')),
      `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'E' : 'A'}`,
      'spanscore=1.9999999999.AAAA',
      'spanscore=',
    ]) {
      expect((await ask({ headers: { cookie: changed, ...OWN } })).status).toBe(401);
    }
  });

  it('needs the scope read', async () => {
    await start();
    expect(await signIn('the-sender-of-tenant-a')).toMatchObject({
      status: 403,
      body: { detail: 'the bearer token sender lacks the scope read' },
    });
  });

  it('is not needed without tokens', async () => {
    await start([]);
    expect(await ask({})).toMatchObject({ status: 200, body: { token: null, tenant: null, proof: 'none' } });
    expect((await signIn(TOKEN)).status).toBe(400);
  });
});

describe('a wrong token', () => {
  const wrong = 'a-wrong-token-that-is-secret';

  it('is refused a hundred times, ever more slowly, and counted; the log does not have it', async () => {
    await start();
    const waits: number[] = [];
    for (let count = 0; count < 100; count += 1) {
      const { status, headers } = await signIn(wrong);
      expect(headers.get('set-cookie')).toBeNull();
      expect(status).toBe(count < 5 ? 401 : 429);
      waits.push(Number(headers.get('retry-after') ?? 0));
    }
    expect(waits.slice(0, 13)).toEqual([0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60]);
    for (let count = 0; count < 100; count += 1) {
      const write = { method: 'DELETE', headers: { authorization: `Bearer ${wrong}` } };
      expect((await ask(count === 0 ? write : { headers: write.headers })).status).toBe(401);
    }
    expect(counted).toEqual(
      Array.from({ length: 200 }, (_, n) => `spanscore.api.tokens.wrong ${n < 100 ? 'sign-in' : 'bearer'}`),
    );
    expect(logged.filter((line) => line.includes('not in auth.tokens'))).toHaveLength(1);
    expect(logged.join('')).not.toContain(wrong);
    expect(writes).toEqual([]);
  });

  it('of somebody at the same address keeps no right one out', async () => {
    await start();
    for (let count = 0; count < 20; count += 1) {
      await signIn(wrong);
      expect((await signIn(TOKEN)).status).toBe(201);
    }
  });

  it('counts for its sender behind a trusted proxy, not for the proxy', async () => {
    await start();
    await api.stop();
    api = await startTestApi({ ...optionsOf(TOKENS, writes), trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    const guess = async (forwarded: string) =>
      (await ask({ method: 'POST', body: { token: wrong }, headers: { 'x-forwarded-for': forwarded } }))
        .status;
    for (let count = 0; count < 6; count += 1) {
      await guess('203.0.113.9, 198.51.100.7, 10.1.1.1');
    }
    expect(await guess('198.51.100.7')).toBe(429);
    expect(await guess('203.0.113.9')).toBe(401);
    expect(await guess('198.51.100.7, 203.0.113.9')).toBe(401);
  });
});
