import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LAST_MOMENT_MS } from '../../../src/domain/durations.ts';
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

/** Writes a cursor as the API does. */
function writeCursor(content: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
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
    const list = path.slice(1);
    const far = [8.64e15, -8.64e15, 1e300].map((atMs) => [list, atMs, 'x']);
    const contents = [...far, [Date.now(), 'x'], [list, 0]];
    const cursors = ['7', 'bm8', ...contents.map(writeCursor)];
    for (const cursor of cursors) {
      const { status, body } = await api.ask(`${path.slice(1)}?cursor=${cursor}`);
      expect({ status, detail: body.detail }).toEqual({
        status: 400,
        detail: expect.stringContaining('cursor') as string,
      });
    }
  });

  test.each(LIST_PATHS)('GET %s answers to a cursor at each end of time', async (path) => {
    for (const atMs of [LAST_MOMENT_MS, -LAST_MOMENT_MS]) {
      const cursor = writeCursor([path.slice(1), atMs, 'x y']);
      expect((await api.ask(`${path.slice(1)}?cursor=${cursor}`)).status).toBe(200);
    }
  });

  test.each(LIST_PATHS)('GET %s refuses the cursor of another list', async (path) => {
    const other = LIST_PATHS.find((each) => each !== path) ?? '';
    const cursor = writeCursor([other.slice(1), Date.now(), 'x y']);
    const { status, body } = await api.ask(`${path.slice(1)}?cursor=${cursor}`);
    expect({ status, detail: body.detail }).toEqual({
      status: 400,
      detail: 'cursor: must be `next` of a previous reply of this list',
    });
  });

  test.each(['scores?order=score', 'monitors?order=firing', 'traces?order=arrived'])(
    'GET /%s has one page only, and refuses a cursor',
    async (path) => {
      const [list = ''] = path.split('?');
      const { status, body } = await api.ask(`${path}&cursor=${writeCursor([list, Date.now(), 'x y'])}`);
      expect({ status, detail: body.detail }).toEqual({
        status: 400,
        detail: expect.stringContaining('has one page only') as string,
      });
    },
  );
});
