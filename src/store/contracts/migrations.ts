/** One forward-only step of the schema: a file `NNNN-name.sql` in `schemas/clickhouse`. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** SHA-256 of the file's bytes, lower-case hex. A released file never changes. */
  readonly checksum: string;
  /** Statements in order. Each one can run again after a crash, and in two processes at once. */
  readonly statements: readonly string[];
}

/** Applied and pending migrations of a database. */
export interface MigrationStatus {
  readonly database: string;
  /** Newest version of the database; 0 for an empty database. */
  readonly current: number;
  /** Newest version that this program knows. */
  readonly known: number;
  readonly applied: readonly { version: number; name: string; appliedAt: string }[];
  readonly pending: readonly Migration[];
}
