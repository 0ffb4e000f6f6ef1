import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Store } from '../../../../src/store/store.ts';
import { BudgetWorld } from '../../../support/scoring/budget-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

vi.setConfig({ testTimeout: 600_000 });

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

/** Reads the real costs of each UTC day. */
async function readDays(): Promise<{ day: string; usd: number }[]> {
  return queryRows(
    base.options,
    "SELECT toString(toDate(SpentAt)) AS day, sum(CostUsd) AS usd FROM spend WHERE Kind = 'call' GROUP BY day ORDER BY day",
  );
}

test('four processes spend 1 USD a day of 3 USD of work, each day on the oldest traces that are left, also after restarts', async () => {
  const catchUp = { order: 'oldest-first', maxAgeMs: 5 * DAY_MS } as const;
  const world = new BudgetWorld(store, { perDay: 1, catchUp });
  const startFleet = async () => {
    const stops = await Promise.all(Array.from({ length: 4 }, () => world.startProcess()));
    return async () => {
      await Promise.all(stops.map((stop) => stop()));
    };
  };
  let stopFleet = await startFleet();
  await world.ingest(300);
  await until(async () => (await world.listDecisions()).length === 300, 240_000);
  // Less than the price of two calls may be left, and the first calls reserve a little more.
  await until(async () => (await world.listPositions('scored')).length >= 95, 120_000);
  await stopFleet();
  for (let day = 2; day <= 3; day += 1) {
    const scored = await world.listPositions('scored');
    // The money of a day is for 100 traces; the order of several processes holds up to 50.
    const first = (await world.listPositions('deferred')).slice(0, 150);
    await world.sleepDays(1);
    stopFleet = await startFleet();
    await until(async () => (await world.listPositions('scored')).length >= scored.length + 95, 240_000);
    await stopFleet();
    const caughtUp = (await world.listPositions('scored')).filter((n) => !scored.includes(n));
    expect(caughtUp.filter((n) => !first.includes(n))).toEqual([]);
  }
  const days = await readDays();
  expect(days).toHaveLength(3);
  for (const { usd } of days) {
    expect(usd).toBeLessThanOrEqual(1 + 1e-9);
    expect(usd).toBeGreaterThanOrEqual(0.95);
  }
});
