import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

async function post(body: unknown, token = tokenOf('admin')) {
  const reply = await fetch(`http://127.0.0.1:${world.port}/api/v1/sql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() };
}

it.each([
  ['JSON', 'application/json', /"data":\s*\[\s*\{\s*"a": 1/u],
  ['JSONEachRow', 'application/x-ndjson', /^\{"a":1\}\n$/u],
  ['CSVWithNames', 'text/csv; charset=utf-8', /^"a"\n1\n$/u],
  ['Parquet', 'application/octet-stream', /^PAR1/u],
])('a statement is answered as %s', async (format, type, text) => {
  const reply = await post({ query: 'SELECT 1 AS a', format });
  expect(reply).toEqual({ status: 200, type, text: expect.stringMatching(text) as string });
});

it.each([
  [{ query: 'SELECT * FROM system.users' }, 400, /"detail":"query: the table system.users may not be read/u],
  [{ query: 'SELECT nothing FROM scores' }, 400, /"detail":"query: Unknown expression/u],
  [{ query: 'SELECT 1', format: 'JSON SETTINGS x' }, 400, /"path":"format"/u],
  [{ query: 'SELECT 1', format: 'Nonsense' }, 400, /"detail":"query: .*Nonsense/u],
  [{ query: 'SELECT 1', maxSeconds: 601 }, 400, /"path":"maxSeconds"/u],
])('a statement that is refused is answered with a problem: %j', async (body, status, text) => {
  const reply = await post(body);
  expect(reply).toMatchObject({ status, type: 'application/problem+json' });
  expect(reply.text).toMatch(text);
});

it.each([tokenOf('admin', 'a'), tokenOf('read'), tokenOf('label')])(
  'a token of one tenant or of another scope is refused: %s',
  async (token) => {
    expect(await post({ query: 'SELECT 1' }, token)).toMatchObject({ status: 403 });
  },
);
