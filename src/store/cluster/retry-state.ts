import { ClickHouseError } from '@clickhouse/client';
import { sleep } from '../../domain/waits.ts';

/** Codes of servers that did nothing yet: another insert waits for its majority, or the server lacks a row of a majority. */
const BUSY_CODES: readonly string[] = ['286', '289'];

/** Pauses between tries, milliseconds: one insert waits for a majority at a time, which takes some milliseconds. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
const PATIENCE_MS = 10_000;

/** Runs a statement on state. Repeats it for 10 s while the servers are busy with another insert into the same table. */
export async function retryState<T>(run: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await run();
    } catch (error) {
      const isBusy = error instanceof ClickHouseError && BUSY_CODES.includes(error.code);
      if (!isBusy || performance.now() + pauseMs > endMs) {
        throw error;
      }
    }
    // Processes that met once would meet again after the same pause.
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}
