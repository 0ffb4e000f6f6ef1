import { openDatabase } from '../../../src/store/open-database.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/store/store.ts';
import { queryRows, runCommand } from './clickhouse-query.ts';
import type { TestEngine } from './engine.ts';
import { storeOptions } from './store-rows.ts';

/** Rows of monitors and their order, by table. Interruptions must not change the final rows of these tables. */
const KEPT = {
  monitor_buckets: 'ORDER BY IntervalMs, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment',
  progress: "WHERE Kind = 'monitor' ORDER BY Name",
  monitor_states: "WHERE Kind = 'status' ORDER BY RuleKey, Tenant, Scorer, Fingerprint, Agent, Environment",
  alert_events: 'ORDER BY EventId',
} as const;
type KeptTable = keyof typeof KEPT;
const TABLES = Object.keys(KEPT) as KeptTable[];

/** Database with scores that have arrived, for monitors that are killed and started again. */
export interface MonitoredDatabase {
  readonly options: StoreOptions;
  readonly store: Store;
  /** Writes rows of `scores`, in one block. */
  insertScores(rows: readonly object[]): Promise<void>;
  /** Reads the rows of a table, without their write times. */
  kept(table: KeptTable): Promise<object[]>;
  allKept(): Promise<Record<string, object[]>>;
  /** Removes all data of monitors. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Creates the database.
 * @param scores rows of `scores`, in the blocks in which they arrived
 */
export async function monitoredDatabase(
  engine: TestEngine,
  scores: readonly (readonly object[])[],
): Promise<MonitoredDatabase> {
  const options = storeOptions(engine);
  const store = await openStore(options);
  async function insertScores(...blocks: (readonly object[])[]): Promise<void> {
    const database = openDatabase(options);
    for (const block of blocks) {
      await database.insertRows('scores', block);
    }
    await database.close();
  }
  await insertScores(...scores);

  async function kept(table: KeptTable): Promise<object[]> {
    const rows = await queryRows<object>(options, `SELECT * FROM ${table} FINAL ${KEPT[table]}`);
    return rows.map((row) => ({ ...row, WrittenAt: '', SeenAt: '' }));
  }

  return {
    options,
    store,
    insertScores,
    kept,
    allKept: async () =>
      Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await kept(table)] as const))),
    async forget() {
      for (const table of [...TABLES, 'deliveries']) {
        await runCommand(options, `TRUNCATE TABLE ${table}`);
      }
    },
    close: () => store.close(),
  };
}
