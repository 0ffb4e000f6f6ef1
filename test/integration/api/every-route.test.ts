import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AccessToken } from '../../../src/config/access.ts';
import { isStream, ROUTES, type DescribedRoute } from '../../support/api/described-routes.ts';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { buildRequest } from '../../support/api/route-cases.ts';
import { storeTenantRows, type RouteValues } from '../../support/api/tenant-rows.ts';

// Every read of the API, taken from the list of routes: a new route is tested here without a change.

const token = (name: string, scope: AccessToken['scopes'][number], tenant: string): AccessToken => ({
  name,
  token: `the-token-of-${name}`,
  tenant,
  scopes: [scope],
});
const TOKENS = [token('ann', 'read', 'ann'), token('bob', 'read', 'bob'), token('ada', 'admin', 'ann')];
const [ANN = '', BOB = '', ADA = ''] = TOKENS.map((each) => each.token);

const READS = ROUTES.filter(
  (route) => route.method === 'get' && route.path !== '/session' && !isStream(route),
);
const CASES = READS.map((route) => [route.path, route] as const);
const WITH_IDS = CASES.filter(([path]) => path.includes('{'));

/** Writes on something that is stored, by their path or by these names. */
const CHANGES = ROUTES.filter(
  ({ method, path, name }) =>
    method !== 'get' &&
    (path.includes('{') || ['post /mutes', 'delete /mutes', 'post /score'].includes(name)),
).map((route) => [route.name, route] as const);

let api: ReadApi;
let ann: RouteValues;
let bob: RouteValues;

beforeAll(async () => {
  api = await startReadApi({ tokens: TOKENS });
  ann = await storeTenantRows(api.store, 'ann');
});
afterAll(() => api.stop());

/** Returns the address of a route: its path, and the query that it cannot do without. */
const fill = (route: DescribedRoute, values: RouteValues) => buildRequest(route, values).path.slice(1);

/** Leaves out what changes from one moment to the next. */
function steady(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (name, value: unknown) =>
      ['since', 'until', 'from', 'to', 'spansPerSecond', 'scoresPerSecond', 'behindSeconds'].includes(name)
        ? undefined
        : value,
    ),
  ) as unknown;
}

describe('every read of the API', () => {
  test('is in the list of this test', () => {
    expect(CASES.length).toBeGreaterThan(14);
  });

  test.each(CASES)('GET %s has an ETag', async (_, route) => {
    const { headers } = await api.ask(fill(route, ann), ANN);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/u);
  });

  test('answers 304 to a client that has the same reply, or has any', async () => {
    const path = `traces/${ann['traceId']}`;
    const { headers } = await api.ask(path, ANN);
    const again = await api.ask(path, ANN, { 'if-none-match': `"other", W/${headers.get('etag')}` });
    expect(again.status).toBe(304);
    expect(again.body).toEqual({});
    expect((await api.ask(path, ANN, { 'if-none-match': '*' })).status).toBe(304);
    expect((await api.ask(`traces/${'0'.repeat(32)}`, ANN, { 'if-none-match': '*' })).status).toBe(404);
  });
});

describe('tenants', () => {
  const before = new Map<string, unknown>();

  beforeAll(async () => {
    for (const [path, route] of CASES) {
      before.set(path, (await api.ask(fill(route, ann), ANN)).body);
    }
    bob = await storeTenantRows(api.store, 'bob');
  });

  test.each(CASES)(
    'GET %s gives a tenant the same before and after another tenant has rows',
    async (path, route) => {
      const { status, body } = await api.ask(fill(route, ann), ANN);
      expect(status).toBe(200);
      expect(steady(body)).toEqual(steady(before.get(path)));
      expect(JSON.stringify(body)).not.toContain('bob');
    },
  );

  test.each(CHANGES)('%s is a 404 for the administrator of another tenant', async (_, route) => {
    const { method = 'GET', path, body = {} } = buildRequest(route, bob);
    const headers = { authorization: `Bearer ${ADA}`, 'content-type': 'application/json' };
    const reply = await fetch(`${api.address}${path}`, { method, headers, body: JSON.stringify(body) });
    expect(reply.status).toBe(404);
  });

  test.each(WITH_IDS)('GET %s is a 404 for an id of another tenant', async (_, route) => {
    expect((await api.ask(fill(route, bob), ANN)).status).toBe(404);
    expect((await api.ask(fill(route, bob), BOB)).status).toBe(200);
  });

  test.each([
    ['traces', 'traceId'],
    ['sessions', 'sessionId'],
  ] as const)('GET /%s/{%s} is a 404 for a token that names another tenant', async (list, id) => {
    const path = `${list}/${encodeURIComponent(ann[id] ?? '')}`;
    expect((await api.ask(`${path}?tenant=bob`, ANN)).status).toBe(404);
    expect((await api.ask(`${path}?tenant=ann`, ANN)).status).toBe(200);
  });
});
