/** The part of chdb's result that the front uses. */
export interface ChdbResult {
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
  bytes(): Uint8Array;
}

/** The part of chdb's `Session` that the front uses: one connection, one statement at a time. */
export interface ChdbSession {
  queryAsync(sql: string, options: { format: string }): Promise<ChdbResult>;
  queryStream(
    sql: string,
    options: { format: string; signal?: AbortSignal },
  ): AsyncIterable<{ raw(): Uint8Array }>;
  close(): void;
}

/** chdb itself: an optional dependency, loaded in the engine's process only. */
export interface ChdbModule {
  Session: new (path: string, options: { connectionArgs: readonly string[] }) => ChdbSession;
}
