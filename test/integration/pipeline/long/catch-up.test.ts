import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Store } from '../../../../src/store/store.ts';
import { BudgetWorld } from '../../../support/scoring/budget-world.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

let base: TestStore;
let store: Store;

beforeAll(async () => {
  base = await testStore();
  store = await openEmptied(base.options);
});
afterAll(async () => {
  await store.close();
  await base.stop();
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

test('a budget of 6 calls a day scores 6 of 18 traces, after a restart on the next day the newest 6, and after four days none', async () => {
  const catchUp = { order: 'newest-first', maxAgeMs: 3 * DAY_MS } as const;
  const world = new BudgetWorld(store, { perDay: 0.063, catchUp });
  const stopFirst = await world.startProcess();
  await world.ingest(18);
  await until(async () => (await world.listDecisions()).length === 18);
  await until(async () => (await world.listPositions('scored')).length === 6);
  await stopFirst();
  const firstDay = await world.listPositions('scored');
  const held = await world.listPositions('deferred');
  expect(held).toHaveLength(12);

  await world.sleepDays(1);
  const stopSecond = await world.startProcess();
  await until(async () => (await world.listPositions('scored')).length === 12);
  await stopSecond();
  const secondDay = (await world.listPositions('scored')).filter((n) => !firstDay.includes(n));
  expect(secondDay).toEqual(held.slice(-6));
  expect(world.model.calls).toHaveLength(12);

  await world.sleepDays(4);
  const stopThird = await world.startProcess();
  await until(async () => (await world.listPositions('failed')).length === 6);
  await stopThird();
  expect(await world.listPositions('scored')).toHaveLength(12);
  const [failed] = (await world.listDecisions()).filter(({ status }) => status === 'failed');
  expect(failed?.reason).toMatch(/^budget_exhausted: no money within 3 days \(scoring\.catchUp\)/);
  expect(world.model.calls).toHaveLength(12);
  expect([...firstDay, ...secondDay, ...held.slice(0, 6)].toSorted((a, b) => a - b)).toEqual(range(1, 18));
});
