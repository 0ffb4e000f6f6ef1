import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Store } from '../../../../src/store/store.ts';
import { BudgetWorld } from '../../../support/scoring/budget-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

let base: TestStore;
let store: Store;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  store = await openEmptied(base.options);
});
afterEach(() => store.close());

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

/** Reads the real costs of each UTC day. */
async function readDays(): Promise<{ day: string; usd: number }[]> {
  return queryRows(
    base.options,
    "SELECT toString(toDate(SpentAt)) AS day, sum(CostUsd) AS usd FROM spend WHERE Kind = 'call' GROUP BY day ORDER BY day",
  );
}

/** Enough for four processes on a machine that is busy with other things: they need a minute on a quiet one. */
const WITHIN_MS = 400_000;

test('four processes spend 0.5 USD a day of 2 USD of work, each day on the oldest traces that are left, also after a restart', async () => {
  const catchUp = { order: 'oldest-first', maxAgeMs: 5 * DAY_MS } as const;
  const world = new BudgetWorld(store, { perDay: 0.5, catchUp });
  const startFleet = async () => {
    const stops = await Promise.all(Array.from({ length: 4 }, () => world.startProcess()));
    return async () => {
      await Promise.all(stops.map((stop) => stop()));
    };
  };
  const stopFirst = await startFleet();
  await world.ingest(200, 5);
  await until(async () => (await world.listDecisions()).length === 200, WITHIN_MS);
  // Less than the price of two calls may be left, and the first calls reserve a little more.
  await until(async () => (await world.listPositions('scored')).length >= 45, WITHIN_MS);
  await stopFirst();
  const scored = await world.listPositions('scored');
  // The money of a day is for 50 traces; the order of several processes holds up to 50.
  const first = (await world.listPositions('deferred')).slice(0, 100);
  await world.sleepDays(1);
  const stopSecond = await startFleet();
  await until(async () => (await world.listPositions('scored')).length >= scored.length + 45, WITHIN_MS);
  await stopSecond();
  const caughtUp = (await world.listPositions('scored')).filter((n) => !scored.includes(n));
  expect(caughtUp.filter((n) => !first.includes(n))).toEqual([]);
  const days = await readDays();
  expect(days).toHaveLength(2);
  for (const { usd } of days) {
    expect(usd).toBeLessThanOrEqual(0.5 + 1e-9);
    expect(usd).toBeGreaterThanOrEqual(0.45);
  }
}, 1_200_000);
