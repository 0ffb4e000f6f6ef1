/** A person or program that may read some tables by SQL, and nothing else. */
export interface ReaderAccount {
  readonly username: string;
  readonly password: string;
  /** The database that it is in. */
  readonly database: string;
  /** The tables of that database that it may read. */
  readonly tables: readonly string[];
  /** The tenant whose rows it may read; absent: all rows. Each of its tables has a column Tenant. */
  readonly tenant?: string;
}

/** The role of the engine that holds a reader's grants. */
export function nameRole(index: number): string {
  return `spanscore_reader_${index}`;
}
