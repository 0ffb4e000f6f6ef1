import type { IngestTable } from './rows/columns.ts';

/** Rows of one table, encoded as RowBinary in the column order of `columns.ts`. */
export interface RowBlock {
  readonly table: IngestTable;
  readonly rows: number;
  readonly chunks: readonly Uint8Array[];
}

/** Sink for the rows of a collector. */
export interface SpanSink {
  /**
   * Resolves only after every row of the block is durable in the table. Throws a `StoreUnavailableError` (retry the same
   * block with the same token) or a `StoreRejectedError` (the block will never be accepted). `token` identifies the block:
   * a repeat with the same token adds no second row, in the table or in derived tables.
   */
  insert(block: RowBlock, token: string): Promise<void>;
  /**
   * Finds out after a refusal whether the rows or the table is the reason. Resolves when the table accepts inserts with the
   * sent columns. Throws a `StoreUnavailableError` when it does not; then no row of any sender can be stored.
   */
  check(table: IngestTable): Promise<void>;
  /** Writes one row to a table of its own. Throws as `insert` does when the store takes none. */
  probe(): Promise<void>;
  /** Free space on the disks of the store, bytes; null when the store does not report it. */
  readFreeBytes(): Promise<number | null>;
}
