import { connectStore, openConnectedStore } from '../../../src/store/connection/connect-store.ts';
import { parseConfig } from '../../../src/configuration.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { queryRows, type ClickHouseAddress } from './clickhouse-query.ts';
import { listTables } from './filled-tables.ts';

/** Opens the store of a data directory for some work, and closes it. Creates a new one. */
export async function withStore<T>(
  dataDir: string,
  work: (store: Store, address: ClickHouseAddress) => Promise<T>,
): Promise<T> {
  const connection = await connectStore(parseConfig({ store: { dataDir } }), silentLog);
  try {
    const store = await openConnectedStore(connection, silentLog);
    try {
      return await work(store, connection.options);
    } finally {
      await store.close();
    }
  } finally {
    await connection.release();
  }
}

/** Rows and checksum of each table that has rows. Superseded rows, which a merge may remove at any time, do not count. */
export async function digestTables(
  address: ClickHouseAddress,
): Promise<Readonly<Record<string, readonly [string, string]>>> {
  const engines = await queryRows<{ name: string; engine: string }>(
    address,
    `SELECT name, engine FROM system.tables WHERE database = '${address.database}'`,
  );
  const isMerged = new Map(engines.map(({ name, engine }) => [name, engine !== 'MergeTree']));
  const digests = await Promise.all(
    (await listTables(address)).map(async ({ table, columns }) => {
      const names = columns.map(({ name, type }) =>
        // The order of a set of texts means nothing.
        type.startsWith('SimpleAggregateFunction(groupUniqArray') ? `arraySort(\`${name}\`)` : `\`${name}\``,
      );
      const [row] = await queryRows<{ amount: string; checksum: string }>(
        address,
        `SELECT count() AS amount, sum(sipHash64(tuple(${names.join(', ')}))) AS checksum
         FROM ${table}${isMerged.get(table) === true ? ' FINAL' : ''} SETTINGS max_block_size = 8192`,
      );
      return [table, [row?.amount ?? '', row?.checksum ?? '']] as const;
    }),
  );
  return Object.fromEntries(digests.filter(([, [rows]]) => rows !== '0'));
}

/** Tables of running processes, and of the schema itself: they are never copied to another store. */
export const NOT_COPIED = ['members'];
