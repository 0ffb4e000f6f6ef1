import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../../src/store/contracts/dead-letters.ts';
import { testStore, type TestStore } from '../../support/store-rows.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});
afterAll(() => store.stop());

function aLetter(overrides: Partial<DeadLetter> = {}): DeadLetter {
  return {
    id: randomUUID(),
    source: 'kafka',
    topic: 'otlp_spans',
    partition: 3,
    firstOffset: 2n ** 60n,
    lastOffset: 2n ** 60n + 5n,
    tenant: 'a',
    signal: 'traces',
    encoding: 'protobuf',
    body: Buffer.from([0, 255, 10, 128, 39]),
    code: 'input_invalid',
    reason: "it's \\ no 'protobuf'",
    attempts: 1,
    ...overrides,
  };
}

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
