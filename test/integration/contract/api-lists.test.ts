import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIST_PATHS } from '../../support/api/described-routes.ts';
import { LIST_SEEDS, SEED_CONFIG, type ListItem, type ListSeed } from '../../support/api/list-seeds.ts';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';

// The lists are those of the OpenAPI document: a new one needs a seed.

const LIMIT = 4;

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi({ config: SEED_CONFIG });
});
afterAll(() => api.stop());

function findSeed(path: string): ListSeed {
  const seed = LIST_SEEDS[path];
  if (seed === undefined) {
    throw new Error(`${path} has a cursor: add a seed for it to LIST_SEEDS`);
  }
  return seed;
}

function listRepeats(names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

describe('every list of the API', () => {
  test.each(LIST_PATHS)(
    'GET %s is read to its end while rows arrive and change: no row twice, none missed',
    async (path) => {
      const { store, arrive, nameOf, timeOf } = findSeed(path);
      const stored = await store(api.store);
      let round = 0;
      const items: ListItem[] = await api.readAll(`${path.slice(1)}?limit=${LIMIT}`, () =>
        arrive(api.store, stored, round++),
      );
      const names = items.map(nameOf);
      expect(stored.filter((name) => !names.includes(name))).toEqual([]);
      expect(listRepeats(names)).toEqual([]);
      expect(round).toBeGreaterThanOrEqual(Math.ceil(stored.length / LIMIT));
      const places = timeOf === undefined ? [] : items.map(timeOf);
      expect(places).toEqual(places.toSorted().toReversed());
    },
  );

  test.each(LIST_PATHS)('GET %s refuses a cursor that no reply gave', async (path) => {
    const cursors = ['7', 'bm8', Buffer.from('[1e300,"x"]').toString('base64url')];
    for (const cursor of cursors) {
      const { status, body } = await api.ask(`${path.slice(1)}?cursor=${cursor}`);
      expect({ status, detail: body.detail }).toEqual({
        status: 400,
        detail: expect.stringContaining('cursor') as string,
      });
    }
  });

  test.each(LIST_PATHS)('GET %s answers to the cursor of another list', async (path) => {
    const cursor = Buffer.from(JSON.stringify([Date.now(), 'x y'])).toString('base64url');
    expect((await api.ask(`${path.slice(1)}?cursor=${cursor}`)).status).toBe(200);
  });
});
