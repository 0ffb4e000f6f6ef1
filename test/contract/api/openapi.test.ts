import { expect, it } from 'vitest';
import { LIST_PATHS, OPENAPI, ROUTES } from '../../support/api/described-routes.ts';
import { WRITE_CASES } from '../../support/api/route-cases.ts';
import { LIST_SEEDS } from '../../support/api/list-seeds.ts';
import { apiPage } from '../../../tools/docs/api-page.ts';

it('the OpenAPI document is as committed (after a change of a route: vitest run --project contract test/contract/api -u)', async () => {
  const text = `${JSON.stringify(OPENAPI, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../../schemas/openapi.json');
});

it('docs/api.md describes every route (after a change of a route: vitest run --project contract test/contract/api -u)', async () => {
  await expect(apiPage(OPENAPI)).toMatchFileSnapshot('../../../docs/api.md');
});

/** Route that takes the token in its body. */
const SIGN_IN = 'post /session';

it('every route names its summary, its scope, and its problems', () => {
  const faults = ROUTES.filter(
    ({ name, operation: { summary, security = [], responses } }) =>
      !summary?.endsWith('.') ||
      (security.length === 0 && name !== SIGN_IN) ||
      ['401', '403', '503'].some((status) => responses[status] === undefined),
  );
  expect(ROUTES.length).toBeGreaterThan(5);
  expect(faults.map(({ name }) => name)).toEqual([]);
});

it('every list with a cursor has a seed, for the test that reads it to its end', () => {
  expect(Object.keys(LIST_SEEDS).toSorted()).toEqual(LIST_PATHS.toSorted());
});

it('every route that writes has a case, for the tests that ask it', () => {
  const writing = ROUTES.filter(({ method }) => method !== 'get').map(({ name }) => name);
  expect(Object.keys(WRITE_CASES).toSorted()).toEqual(writing.toSorted());
});

/** Lists all schemas of a document, also within others. */
function listSchemas(value: unknown): Readonly<Record<string, unknown>>[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(listSchemas)];
}

const isNullable = ({ type }: Readonly<Record<string, unknown>>) =>
  Array.isArray(type) && type.includes('null');

it('no named schema allows null, and no schema is null and another one at once (use orNull)', () => {
  const { components } = OPENAPI as unknown as { components: { schemas: Record<string, object> } };
  const named = Object.entries(components.schemas).filter(([, schema]) => isNullable({ ...schema }));
  expect(named.map(([name]) => name)).toEqual([]);
  const parts = listSchemas(OPENAPI).flatMap(({ allOf }) => (Array.isArray(allOf) ? allOf : []));
  expect(parts.filter(isNullable)).toEqual([]);
});

it('no pattern has flags, which JSON Schema does not know', () => {
  const patterns = listSchemas(OPENAPI).flatMap(({ pattern }) =>
    typeof pattern === 'string' ? [pattern] : [],
  );
  expect(patterns.length).toBeGreaterThan(0);
  expect(patterns.filter((pattern) => !/^\^.*\$$/u.test(pattern))).toEqual([]);
});
