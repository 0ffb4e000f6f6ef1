import type { Database } from '../database.ts';
import type { StoreSize } from '../contracts/store.ts';

/**
 * Reads the size of the store from the list of parts, not from the tables, so it is fast for any amount of data. Of replicas, it is the size
 * of the one that answers.
 */
export async function readStoreSize(database: Database): Promise<StoreSize> {
  const parts = await database.rows<{ table: string; bytes: string; amount: string }>(
    `SELECT table, sum(bytes_on_disk) AS bytes, sum(rows) AS amount FROM system.parts
     WHERE database = {name:String} AND active GROUP BY table`,
    { name: database.name },
  );
  const computeRows = (asked: string) => Number(parts.find(({ table }) => table === asked)?.amount ?? 0);
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    rows: {
      spans: computeRows('otel_traces'),
      scores: computeRows('scores'),
      decisions: computeRows('decisions'),
    },
  };
}
