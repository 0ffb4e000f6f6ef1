import { StoreUnavailableError } from '../../domain/errors.ts';
import { sleep } from '../../domain/waits.ts';
import type { Database } from '../database.ts';

/** First and longest wait between two looks at deletions under way, milliseconds. */
const FIRST_LOOK_MS = 20;
const LOOK_EVERY_MS = 1_000;

/** Begins to change rows of a table. */
export async function beginMutation(database: Database, table: string, change: string): Promise<void> {
  // The items of a job stay as they are while its rows are deleted, so all replicas delete the same.
  const settings = `mutations_sync = 0${database.isReplicated ? ', allow_nondeterministic_mutations = 1' : ''}`;
  await database.command(`ALTER TABLE ${table} ${change} SETTINGS ${settings}`);
}

/**
 * Waits for the mutations of tables: rows are rewritten in the background, however long it takes. Of replicas, the one that answers; Keeper
 * has the others do the same.
 */
export async function waitForMutations(
  database: Database,
  tables: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { isReplicated, name } = database;
  if (isReplicated) {
    // Another replica than the one that was asked hears of a mutation later.
    await sleep(LOOK_EVERY_MS, signal);
  }
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
    const [row] = await database.rows<{ open: string; fault: string }>(
      `SELECT count() AS open, max(latest_fail_reason) AS fault FROM system.mutations
       WHERE database = {name:String} AND table IN {tables:Array(String)} AND NOT is_done`,
      { name, tables: [...tables] },
    );
    if (row === undefined || Number(row.open) === 0 || signal?.aborted === true) {
      return;
    }
    if (row.fault !== '') {
      throw new StoreUnavailableError(`a deletion fails (${tables.join(', ')}): ${row.fault}`);
    }
    await sleep(waitMs, signal);
  }
}
