import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aLetter } from '../../support/builders/a-letter.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});
afterAll(() => store.stop());

describe('dead letters', () => {
  it('are read back as they were written, once for each record', async () => {
    const { deadLetters } = store.store;
    const letter = aLetter();
    await deadLetters.write([letter]);
    await deadLetters.write([letter]);
    await deadLetters.write([{ ...letter, attempts: 2, reason: 'still no protobuf' }]);
    const [read, ...others] = await deadLetters.list({ limit: 10, ids: [letter.id] });
    expect(others).toEqual([]);
    expect(read).toEqual({
      ...letter,
      attempts: 2,
      reason: 'still no protobuf',
      failedAtMs: expect.any(Number),
    });
  });

  it('stay dropped, even when the same record comes again', async () => {
    const { deadLetters } = store.store;
    const [dropped, kept] = [aLetter(), aLetter()];
    await deadLetters.write([dropped, kept]);
    await deadLetters.drop([dropped]);
    await deadLetters.write([{ ...dropped, attempts: 7 }]);
    const read = await deadLetters.list({ limit: 10, ids: [dropped.id, kept.id] });
    expect(read.map(({ id }) => id)).toEqual([kept.id]);
  });

  it('are listed newest first, as many as wanted', async () => {
    const { deadLetters } = store.store;
    await deadLetters.write([aLetter(), aLetter()]);
    expect(await deadLetters.list({ limit: 1 })).toHaveLength(1);
  });
});
