import type { TableDigest } from '../contracts/backup.ts';
import type { Database } from '../database.ts';

/**
 * Reads number and checksum of the rows of a table, superseded versions included.
 * @param table name, with its database if it is another one
 */
export async function readDigest(database: Database, table: string, where = '1'): Promise<TableDigest> {
  const [row] = await database.rows<TableDigest & { readonly amount: string }>(
    `SELECT count() AS amount, toString(sum(cityHash64(tuple(*)))) AS checksum FROM ${table} WHERE ${where}
     SETTINGS max_threads = 2, max_block_size = 8192`,
  );
  return { rows: Number(row?.amount ?? 0), checksum: row?.checksum ?? '0' };
}
