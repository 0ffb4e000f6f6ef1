/** Person or program that may only read some tables with SQL. */
export interface ReaderAccount {
  readonly username: string;
  readonly password: string;
  /** Database of the reader. */
  readonly database: string;
  /** The tables of that database that it may read. */
  readonly tables: readonly string[];
  /** Tenant whose rows the reader may read; undefined: all rows. Each of its tables has a column Tenant. */
  readonly tenant?: string;
}

/** The role of the engine that holds a reader's grants. */
export function nameRole(index: number): string {
  return `spanscore_reader_${index}`;
}
