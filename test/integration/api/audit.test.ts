import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { ROUTES, scopeOf } from '../../support/api/described-routes.ts';
import { buildRequest, unknownValues, WRITE_CASES } from '../../support/api/route-cases.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

const TRACE = newTraceId();

interface AuditRow {
  readonly Tenant: string;
  readonly Token: string;
  readonly Action: string;
  readonly Subjects: readonly string[];
}

const readAudit = () =>
  queryRows<AuditRow>(world.options, 'SELECT Tenant, Token, Action, Subjects FROM audit ORDER BY WrittenAt');

const WRITES = ROUTES.filter(({ method }) => method !== 'get').map((route) => [route.name, route] as const);

it.each(WRITES)(
  '%s leaves a row with the name of the token, also about what is not stored',
  async (name, route) => {
    const before = await readAudit();
    const scope = scopeOf(route);
    const { status } = await world.ask({ ...buildRequest(route, unknownValues()), token: tokenOf(scope) });
    expect([200, 201, 202, 204, 404]).toContain(status);
    const added = (await readAudit()).slice(before.length);
    const action = WRITE_CASES[name]?.action;
    expect(added).toMatchObject([{ Tenant: '', Token: `${scope} of `, Action: action }]);
  },
);

it('the rows name the tenant of the token, and no id of a person, a session, a trace or a tenant', async () => {
  const token = tokenOf('admin', 'a');
  for (const path of ['/users/ann', '/sessions/chat-of-ann', `/traces/${TRACE}`, '/tenants/acme']) {
    expect((await world.ask({ method: 'DELETE', path, token })).status).toBe(404);
  }
  const rows = (await readAudit()).filter(({ Token }) => Token === 'admin of a');
  expect(rows.map(({ Tenant, Subjects: [subject = ''] }) => [Tenant, subject.split(':')[0]])).toEqual([
    ['a', 'user'],
    ['a', 'session'],
    ['a', 'trace'],
    ['a', 'tenant'],
  ]);
  const text = JSON.stringify(await readAudit());
  for (const id of ['ann', 'chat', TRACE, 'acme']) {
    expect(text).not.toContain(id);
  }
});

it('a request that is refused leaves no row', async () => {
  const before = await readAudit();
  const body = { service: 'shop', version: 'v1' };
  const refused = [
    await world.ask({ method: 'POST', path: '/markers', body, token: tokenOf('label') }),
    await world.ask({ method: 'POST', path: '/markers', body, token: 'a-token-of-nobody-at-all' }),
    await world.ask({ method: 'POST', path: '/markers', body: {}, token: tokenOf('admin') }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 401, 400]);
  expect(await readAudit()).toEqual(before);
});
