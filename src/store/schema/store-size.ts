import { ofEachShard, statementTable } from '../cluster/cluster.ts';
import type { Database } from '../database.ts';
import type { StoreSize } from '../contracts/store.ts';

/**
 * Reads the size of the store from the list of parts, not from the tables, so it is fast for any amount of data. Of a cluster, it is the size
 * on one server of each shard.
 */
export async function readStoreSize(database: Database): Promise<StoreSize> {
  const { cluster, name } = database;
  const parts = await database.rows<{ table: string; bytes: string; amount: string }>(
    `SELECT table, sum(bytes_on_disk) AS bytes, sum(rows) AS amount FROM ${ofEachShard(cluster, 'system.parts')}
     WHERE database = {name:String} AND active GROUP BY table`,
    { name },
  );
  const computeRows = (asked: string) =>
    Number(parts.find(({ table }) => statementTable(cluster, table) === asked)?.amount ?? 0);
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    rows: {
      spans: computeRows('otel_traces'),
      scores: computeRows('scores'),
      decisions: computeRows('decisions'),
    },
  };
}
