import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../support/store/clickhouse-query.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(async () => {
  await it.stop();
});

test('rows from before the store’s clock went back are found, those of now are not', async () => {
  await it.store.members.beat('now', { cells: [] });
  await it.store.ruleVersions.record({
    rule: 'r',
    version: 'v',
    activeFromMs: Date.now(),
    probability: 1,
    definition: {},
  });
  expect(await it.store.aheadRows()).toEqual([]);

  await runCommand(
    it.options,
    `INSERT INTO members (Member, Leaving, BeatAt) VALUES ('future', 0, now64(3) + toIntervalHour(2))`,
  );
  await it.store.ruleVersions.record({
    rule: 'r',
    version: 'later',
    activeFromMs: Date.now() + 600_000,
    probability: 1,
    definition: {},
  });
  const found = await it.store.aheadRows();
  expect(found.map(({ table, rows }) => [table, rows])).toEqual([
    ['members', 1],
    ['rule_versions', 1],
  ]);
  expect(found[0]!.aheadMs).toBeGreaterThan(7_000_000);
});
