import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../../../src/store/database.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import { scoreRowAt } from '../../../support/monitors/monitor-world.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const DAY_MS = 24 * 3_600_000;

let base: TestStore;
let database: Database;

beforeAll(async () => {
  base = await testStore();
  database = openDatabase(base.options);
});
afterAll(async () => {
  await database.close();
  await base.stop();
});

async function countRows(table: string): Promise<number> {
  const [parts] = await database.rows<{ stored: string }>(
    `SELECT toString(sum(rows)) AS stored FROM system.parts
     WHERE database = currentDatabase() AND active AND table = '${table}'`,
  );
  return Number(parts?.stored);
}

it('expired rows go and young ones stay, with the merge settings of the store', async () => {
  // The usual interval of such merges is four hours.
  for (const table of ['scores', 'score_arrivals']) {
    await database.command(`ALTER TABLE ${table} MODIFY SETTING merge_with_ttl_timeout = 1`);
  }
  const nowMs = Date.now();
  const soonExpiredMs = nowMs - 400 * DAY_MS + 20_000;
  await database.insertRows('scores', [scoreRowAt(nowMs, {}), scoreRowAt(nowMs, {})]);
  await database.insertRows('scores', [scoreRowAt(soonExpiredMs, {})]);
  await database.insertRows('scores', [scoreRowAt(nowMs - 29 * DAY_MS, {})]);
  await database.insertRows('scores', [scoreRowAt(nowMs - 31 * DAY_MS, {})]);
  expect(await countRows('scores')).toBe(5);

  await until(
    async () => (await countRows('scores')) === 4 && (await countRows('score_arrivals')) === 3,
    90_000,
  );
}, 120_000);

it('a partition without inserts becomes one part', async () => {
  await database.command(`ALTER TABLE decision_arrivals MODIFY SETTING min_age_to_force_merge_seconds = 2`);
  for (const day of [2, 1, 0]) {
    for (let insert = 0; insert < 4; insert++) {
      await database.command(
        `INSERT INTO decision_arrivals (WrittenAt, TraceId) SELECT now64(3) - toIntervalDay(${day}), toString(number) FROM numbers(3)`,
      );
    }
  }

  await until(async () => {
    const [parts] = await database.rows<{ amount: string }>(
      `SELECT toString(count()) AS amount FROM system.parts
       WHERE database = currentDatabase() AND active AND table = 'decision_arrivals'`,
    );
    return parts?.amount === '3';
  }, 60_000);
  expect(await countRows('decision_arrivals')).toBe(36);
}, 90_000);
