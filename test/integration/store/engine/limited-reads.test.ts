import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueryStoppedError } from '../../../../src/domain/errors.ts';
import { buildScore, testStore, type TestStore } from '../../../support/store/store-rows.ts';

let base: TestStore;

beforeAll(async () => {
  base = await testStore();
  await base.store.scores.write(Array.from({ length: 500 }, () => buildScore()));
});
afterAll(() => base.stop());

test('a read within its limits answers as without them', async () => {
  const limited = base.store.limitReads({ maxSeconds: 20, maxBytes: 1024 ** 3 });
  expect(await limited.lists.scores({}, { limit: 3 })).toEqual(
    await base.store.lists.scores({}, { limit: 3 }),
  );
});

test('a read that needs more memory is stopped, and reads without this limit are not', async () => {
  const limited = base.store.limitReads({ maxSeconds: 20, maxBytes: 1024 });
  await expect(limited.lists.scores({}, { limit: 3 })).rejects.toThrow(QueryStoppedError);
  expect((await base.store.lists.scores({}, { limit: 3 })).items).toHaveLength(3);
});
