import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSignIns } from '../../../src/api/writes/audit.ts';
import { openStore } from '../../../src/store/store.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { openEmptied, testStore, type TestStore } from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

test('processes that start together get one key of cookies, which stays', async () => {
  const { store } = it;
  const others = await Promise.all(Array.from({ length: 4 }, () => openStore(it.options)));
  const keys = await Promise.all([store, ...others].map(({ cookieKeys }) => cookieKeys.read()));
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(keys).size).toBe(1);
  const later = await openStore(it.options);
  expect(await later.cookieKeys.read()).toBe(keys[0]);
  await Promise.all([...others, later].map((each) => each.close()));
});

test('after the keys were deleted, a new process makes a new one', async () => {
  const former = await it.store.cookieKeys.read();
  const emptied = await openEmptied(it.options);
  const key = await emptied.cookieKeys.read();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(key).not.toBe(former);
  await emptied.close();
});

test('two equal writes leave two rows of the audit', async () => {
  const record = { tenant: 'a', token: 'operator', action: 'mute.set', subjects: ['alert:Low'] };
  await it.store.audit.write(record);
  await it.store.audit.write(record);
  const rows = await queryRows(it.options, 'SELECT Tenant, Token, Action, Subjects FROM audit');
  const row = { Tenant: 'a', Token: 'operator', Action: 'mute.set', Subjects: ['alert:Low'] };
  expect(rows).toEqual([row, row]);
});

test('a sign-in has ended in every process as soon as the audit has its end', async () => {
  const second = await openStore(it.options);
  const [here, there] = [createSignIns(it.store), createSignIns(second)];
  expect(await there.hasEnded('one')).toBe(false);
  await it.store.audit.write({ tenant: '', token: 'a', action: 'session.end', subjects: ['sign-in:one'] });
  await it.store.audit.write({ tenant: '', token: 'a', action: 'mute.set', subjects: ['sign-in:two'] });
  for (const signIns of [here, there]) {
    expect([await signIns.hasEnded('one'), await signIns.hasEnded('two')]).toEqual([true, false]);
  }
  await second.close();
});
