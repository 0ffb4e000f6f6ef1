/** Schema of a store, beside the schema of this program. */
export interface SchemaStatus {
  readonly database: string;
  /** Version that the store recorded; undefined for a store without one. */
  readonly schema: string | undefined;
  /** Version of this program. */
  readonly known: string;
  /**
   * - `empty`: the store has no tables of spanscore.
   * - `current`: the store has all tables of this program.
   * - `incomplete`: the store was made with this schema, but lacks tables: a creation was interrupted.
   * - `foreign`: the store was made with another schema. This program must not use it.
   */
  readonly state: 'empty' | 'current' | 'incomplete' | 'foreign';
  /** Statements that complete the store, in order. Each one can run again, and in two processes at once. */
  readonly pending: readonly string[];
  /** Reason against the use of a foreign store, with the way out. */
  readonly fault: string | undefined;
}
