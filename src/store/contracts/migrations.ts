/** One forward-only step of the schema: a file `NNNN-name.sql` in `schemas/clickhouse`. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** SHA-256 of the file's bytes, lower-case hex. A released file never changes. */
  readonly checksum: string;
  /** In order. Each one can be run again after a crash, and by two processes at once. */
  readonly statements: readonly string[];
}

/** Migrations that a database has and lacks. */
export interface MigrationStatus {
  readonly database: string;
  /** The newest version that the database has; 0 for an empty one. */
  readonly current: number;
  /** The newest version that this program knows. */
  readonly known: number;
  readonly applied: readonly { version: number; name: string; appliedAt: string }[];
  readonly pending: readonly Migration[];
}
