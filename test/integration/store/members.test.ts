import { afterAll, beforeAll, expect, test } from 'vitest';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(async () => {
  await it.stop();
});

test('every member that beats sees itself and the other members', async () => {
  expect(await it.store.members.beat('a', { ttlMs: 60_000 })).toEqual(['a']);
  expect(await it.store.members.beat('b', { ttlMs: 60_000 })).toEqual(['a', 'b']);
  expect(await it.store.members.beat('a', { ttlMs: 60_000 })).toEqual(['a', 'b']);
});

test('a member that leaves is gone at once, and may come back', async () => {
  await it.store.members.beat('c', { ttlMs: 60_000 });

  expect(await it.store.members.beat('c', { ttlMs: 60_000, leaving: true })).not.toContain('c');
  expect(await it.store.members.beat('c', { ttlMs: 60_000 })).toContain('c');
});

test('a member that fell silent is gone after its time', async () => {
  await it.store.members.beat('silent', { ttlMs: 60_000 });

  await expect
    .poll(() => it.store.members.beat('loud', { ttlMs: 500 }), { timeout: 30_000 })
    .not.toContain('silent');
});
