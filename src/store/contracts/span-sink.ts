import type { IngestTable } from './columns.ts';

/** Rows of one table, encoded as RowBinary in the column order of `columns.ts`. */
export interface RowBlock {
  readonly table: IngestTable;
  readonly rows: number;
  readonly chunks: readonly Uint8Array[];
}

/** Where a collector's rows go. */
export interface SpanSink {
  /**
   * Returns only after every row of the block is durably in the table; throws `StoreUnavailableError` (try the same block
   * and token again) or `StoreRejectedError` (never will be accepted). `token` identifies the block: a repeat with the same
   * token adds no second row, in the table or in what is derived from it.
   */
  insert(block: RowBlock, token: string): Promise<void>;
}
