/** The part of chdb's result that the front uses. */
export interface ChdbResult {
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
  bytes(): Uint8Array;
}

/**
 * The part of chdb's `Session` that the front uses: one connection, one statement at a time. `queryStream` is no part of it: it
 * analyses a statement, and computes its scalar subqueries, on the event loop.
 */
export interface ChdbSession {
  queryAsync(sql: string, options: { format: string }): Promise<ChdbResult>;
  close(): void;
}

/** chdb itself: an optional dependency, loaded in the engine's process only. */
export interface ChdbModule {
  Session: new (path: string, options: { connectionArgs: readonly string[] }) => ChdbSession;
}
