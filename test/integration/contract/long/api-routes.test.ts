import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PREFIX } from '../../../../src/api/api.ts';
import {
  apiWorld,
  tokenOf,
  type ApiAnswer,
  type ApiWorld,
  type ListeningApi,
} from '../../../support/api/api-world.ts';
import {
  findReplySchema,
  isStream,
  ROUTES,
  scopeOf,
  type DescribedRoute,
} from '../../../support/api/described-routes.ts';
import { sendHead } from '../../../support/api/raw-request.ts';
import { buildRequest, unknownValues } from '../../../support/api/route-cases.ts';
import { storeTenantRows, type RouteValues } from '../../../support/api/tenant-rows.ts';

// Every route of the OpenAPI document is asked: its success and each of its problems. A new route needs a case in `route-cases.ts`.

const CASES = ROUTES.filter((route) => !isStream(route)).map((route) => [route.name, route] as const);

/** The reply of this route has the format of its request, and its time limit, too. */
const SQL = 'post /sql';

/** Routes for tokens without a tenant. */
const OF_ALL_TENANTS = [SQL, 'post /config/reload', 'post /config/apply'];

/** Each route that writes has a tenant of its own: some delete all that the tenant has. */
const tenantOf = (route: DescribedRoute) =>
  route.method === 'get' ? 'reader' : `writer${ROUTES.indexOf(route)}`;
const adminOf = (route: DescribedRoute) =>
  tokenOf(scopeOf(route), OF_ALL_TENANTS.includes(route.name) ? '' : tenantOf(route));

/** Routes that do not need the store. */
const WITHOUT_STORE = ['get /session'];

const SIGN_IN = 'post /session';

let world: ApiWorld;
let none: ListeningApi;
let starting: ListeningApi;
let hasty: ListeningApi;
const rows = new Map<string, RouteValues>();

beforeAll(async () => {
  const tenants = [...new Set(ROUTES.map(tenantOf))];
  world = await apiWorld(tenants);
  none = await world.listen({ findStore: () => 'none' });
  starting = await world.listen({ findStore: () => 'starting' });
  hasty = await world.listen({ maxRequestMs: 50 });
  for (const tenant of tenants) {
    rows.set(tenant, await storeTenantRows(world.store, tenant));
  }
});
afterAll(() => world.stop());
afterEach(() => world.gate.set('open'));

/** Checks that a reply is documented, and as its schema says. */
function expectDocumented(route: DescribedRoute, { status, body }: Pick<ApiAnswer, 'status' | 'body'>) {
  const schema = findReplySchema(route, status);
  expect(schema === undefined ? {} : schema.parse(body)).toEqual(body);
}

/** Checks a problem, and returns its detail. */
function expectProblem(route: DescribedRoute, answer: ApiAnswer, status: number): string {
  expect({ status: answer.status, detail: answer.body['detail'] }).toMatchObject({ status });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expectDocumented(route, answer);
  return String(answer.body['detail']);
}

const withQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

const valuesOf = (route: DescribedRoute) => rows.get(tenantOf(route)) ?? {};

/** Asks a route about what its tenant has, as an administrator of this tenant. */
const ask = (route: DescribedRoute, changes: object = {}, given = valuesOf(route)) =>
  world.ask({ ...buildRequest(route, given), token: adminOf(route), ...changes });

const askAt = (api: ListeningApi, route: DescribedRoute) =>
  api.ask({ ...buildRequest(route, valuesOf(route)), token: adminOf(route) });

describe.each(CASES)('%s', (name, route) => {
  test('answers as its schema says', async () => {
    const answer = await ask(route);
    expect({ status: answer.status, detail: answer.body['detail'] }).toEqual({
      status: expect.toSatisfy((status: number) => status >= 200 && status < 300) as number,
      detail: undefined,
    });
    if (name !== SQL) {
      expectDocumented(route, answer);
    }
  });

  test('refuses an unknown parameter, and names it', async () => {
    const path = withQuery(buildRequest(route, valuesOf(route)).path, 'nonsense=1');
    expect(expectProblem(route, await ask(route, { path }), 400)).toContain('nonsense');
  });

  test('refuses a sender without a token', async () => {
    const nobody = { ...valuesOf(route), token: 'a-token-of-nobody' };
    expect(expectProblem(route, await ask(route, { token: undefined }, nobody), 401)).toContain('token');
  });

  test('refuses a page of another origin', async () => {
    const answer = await ask(route, { headers: { origin: 'http://example.com' } });
    expect(expectProblem(route, answer, 403)).toContain('example.com');
  });

  test('is not found in a process without the role api', async () => {
    expect(expectProblem(route, await askAt(none, route), 404)).toContain('/readyz');
  });

  test('answers 503 while the process starts', async () => {
    expect(expectProblem(route, await askAt(starting, route), 503)).toContain('starts');
  });

  test('refuses a body without a length, and a body above the limit, before it comes', async () => {
    const { method = '', path } = buildRequest(route, valuesOf(route));
    const head = { authorization: `Bearer ${adminOf(route)}`, 'content-type': 'application/json' };
    for (const [expected, length] of [
      [411, { 'transfer-encoding': 'chunked' }],
      [413, { 'content-length': '2000000' }],
    ] as const) {
      const headers = { ...head, ...length } as Record<string, string>;
      const { status, body } = await sendHead(world.port, { method, path: PREFIX + path, headers });
      expect(status).toBe(expected);
      expectDocumented(route, { status, body: body as ApiAnswer['body'] });
    }
  });

  test('refuses a longer address than it reads', async () => {
    const { method = '', path } = buildRequest(route, valuesOf(route));
    const long = withQuery(PREFIX + path, `nonsense=${'x'.repeat(40_000)}`);
    const { status, body } = await sendHead(world.port, { method, path: long, headers: {} });
    expect(status).toBe(431);
    expectDocumented(route, { status, body: body as ApiAnswer['body'] });
  });

  test('refuses the sender of too many requests, and says when to try again', async () => {
    const limited = await world.listen({ requestsPerMinute: 1 });
    const given = { ...unknownValues(), ...(name === SIGN_IN ? { token: 'a-token-of-nobody' } : {}) };
    const request = { ...buildRequest(route, given), token: tokenOf(scopeOf(route)) };
    let answer = await limited.ask(request);
    for (let failures = 1; answer.status !== 429 && failures < 10; failures++) {
      answer = await limited.ask(request);
    }
    expectProblem(route, answer, 429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe.each(CASES.filter(([, { path }]) => path.includes('{')))('%s', (_, route) => {
  test('finds nothing under an unknown id', async () => {
    const answer = await ask(route, { token: tokenOf(scopeOf(route)) }, unknownValues());
    expect(expectProblem(route, answer, 404)).not.toBe('');
  });
});

describe.each(CASES.filter(([name]) => WITHOUT_STORE.includes(name)))('%s', (_, route) => {
  test('answers without the store', async () => {
    world.gate.set('away');
    expect((await ask(route)).status).toBe(200);
  });
});

describe.each(CASES.filter(([name]) => !WITHOUT_STORE.includes(name)))('%s', (_, route) => {
  test('answers 503 while the store is away', async () => {
    world.gate.set('away');
    const answer = await ask(route);
    expect(expectProblem(route, answer, 503)).toContain('ClickHouse');
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/u);
  });

  test('answers 503 when the store stops its query, and names a filter of the route', async () => {
    world.gate.set('stopping');
    const detail = expectProblem(route, await ask(route), 503);
    expect(detail).toContain('Timeout exceeded');
    const hasSince = route.operation.parameters?.some((each) => each.name === 'since') ?? false;
    expect(detail.includes('with the filter since')).toBe(hasSince);
  });
});

describe.each(CASES.filter(([name]) => name !== SQL && !WITHOUT_STORE.includes(name)))('%s', (_, route) => {
  test('answers 504 when the store hangs', async () => {
    world.gate.set('hanging');
    expect(expectProblem(route, await askAt(hasty, route), 504)).toContain('longer than 0.05 s');
  });
});
