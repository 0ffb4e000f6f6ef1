import { openDatabase } from '../../../src/store/database.ts';
import { openStore, type StoreOptions } from '../../../src/store/store.ts';
import { queryRows, runCommand } from './clickhouse-query.ts';
import type { TestEngine } from './engine.ts';
import { storeOptions } from './store-rows.ts';
import type { Store } from '../../../src/store/contracts/store.ts';

/** Tables of monitors whose end state must not depend on interruptions, with the keys of their rows. */
const KEPT = {
  monitor_buckets: 'IntervalMs, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment',
  monitor_progress: 'IntervalMs, Bucket',
  monitor_status: 'RuleKey, Tenant, Scorer, Fingerprint, Agent, Environment',
  alert_events: 'EventId',
} as const;
export type KeptTable = keyof typeof KEPT;
const TABLES = Object.keys(KEPT) as KeptTable[];

/** A database of its own with scores that have arrived, for monitors that are killed and started again. */
export interface MonitoredDatabase {
  readonly options: StoreOptions;
  readonly store: Store;
  /** Rows of a table, without the times of their writes. */
  kept(table: KeptTable): Promise<object[]>;
  allKept(): Promise<Record<string, object[]>>;
  /** As if there had never been a monitor. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** @param scores rows of `scores`, in the blocks in which they arrived */
export async function monitoredDatabase(
  engine: TestEngine,
  scores: readonly (readonly object[])[],
): Promise<MonitoredDatabase> {
  const options = storeOptions(engine);
  const store = await openStore(options);
  const database = openDatabase(options);
  for (const block of scores) {
    await database.insertRows('scores', block);
  }
  await database.close();

  async function kept(table: KeptTable): Promise<object[]> {
    const rows = await queryRows<object>(options, `SELECT * FROM ${table} FINAL ORDER BY ${KEPT[table]}`);
    return rows.map((row) => ({ ...row, WrittenAt: '' }));
  }

  return {
    options,
    store,
    kept,
    allKept: async () =>
      Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await kept(table)] as const))),
    async forget() {
      for (const table of [...TABLES, 'monitor_checkpoints', 'alert_deliveries']) {
        await runCommand(options, `TRUNCATE TABLE ${table}`);
      }
    },
    close: () => store.close(),
  };
}
