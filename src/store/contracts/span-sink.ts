import type { IngestTable } from './columns.ts';

/** Rows of one table, encoded as RowBinary in the column order of `columns.ts`. */
export interface RowBlock {
  readonly table: IngestTable;
  readonly rows: number;
  readonly chunks: readonly Uint8Array[];
}

/** Sink of a collector's rows. */
export interface SpanSink {
  /**
   * Returns only after every row of the block is durably in the table; throws `StoreUnavailableError` (try the same block
   * and token again) or `StoreRejectedError` (never will be accepted). `token` identifies the block: a repeat with the same
   * token adds no second row, in the table or in what is derived from it.
   */
  insert(block: RowBlock, token: string): Promise<void>;
  /**
   * After a refusal: is it the rows, or the table? Resolves when the table takes inserts with the columns that are sent;
   * throws `StoreUnavailableError` when it does not (no row of any sender can be taken then).
   */
  check(table: IngestTable): Promise<void>;
  /** Writes one row to a table of its own. Throws as `insert` does when the store takes none. */
  probe(): Promise<void>;
  /** Free space on the disks of the store, bytes; null where the store does not say. */
  readFreeBytes(): Promise<number | null>;
}
