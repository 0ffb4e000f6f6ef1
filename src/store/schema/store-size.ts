import type { Database } from '../database.ts';

/** The space that a store takes. */
export interface StoreSize {
  /** Bytes on disk, of all tables. */
  readonly bytes: number;
  /** Rows of the tables that people ask for; versions of a row that are not merged yet count each. */
  readonly rows: { readonly spans: number; readonly scores: number; readonly decisions: number };
}

/** Looks at the parts of the tables, not at the tables: quick however much is stored. */
export async function readStoreSize(database: Database): Promise<StoreSize> {
  const parts = await database.rows<{ name: string; bytes: string; amount: string }>(
    `SELECT table AS name, sum(bytes_on_disk) AS bytes, sum(rows) AS amount FROM system.parts
     WHERE database = currentDatabase() AND active GROUP BY table`,
  );
  const computeRows = (table: string) => Number(parts.find(({ name }) => name === table)?.amount ?? 0);
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    rows: {
      spans: computeRows('otel_traces'),
      scores: computeRows('scores'),
      decisions: computeRows('decisions'),
    },
  };
}
