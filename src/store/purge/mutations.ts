import { StoreUnavailableError } from '../../domain/errors.ts';
import { sleep } from '../../domain/waits.ts';
import { alterTable, ofAllServers, rowsTable } from '../cluster/cluster.ts';
import type { Database } from '../database.ts';

/** First and longest wait between two looks at deletions under way, milliseconds. */
const FIRST_LOOK_MS = 20;
const LOOK_EVERY_MS = 1_000;

/** Begins to change rows of a table. */
export async function beginMutation(database: Database, table: string, change: string): Promise<void> {
  // The items of a job stay as they are while its rows are deleted, so all replicas delete the same.
  const settings = `mutations_sync = 0${database.cluster === undefined ? '' : ', allow_nondeterministic_mutations = 1'}`;
  await database.command(`${alterTable(database.cluster, table, change)} SETTINGS ${settings}`);
}

/** Waits for the mutations of tables on every server: rows are rewritten in the background, however long it takes. */
export async function waitForMutations(
  database: Database,
  tables: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { cluster, name } = database;
  let firstMs = FIRST_LOOK_MS;
  if (cluster !== undefined) {
    // The replicas hear of a mutation after the server that was asked.
    firstMs = LOOK_EVERY_MS;
    await sleep(firstMs, signal);
  }
  for (let waitMs = firstMs; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
    const [row] = await database.rows<{ open: string; fault: string }>(
      `SELECT count() AS open, max(latest_fail_reason) AS fault FROM ${ofAllServers(cluster, 'system.mutations')}
       WHERE database = {name:String} AND table IN {tables:Array(String)} AND NOT is_done`,
      { name, tables: tables.map((table) => rowsTable(cluster, table)) },
    );
    if (row === undefined || row.open === '0' || signal?.aborted === true) {
      return;
    }
    if (row.fault !== '') {
      throw new StoreUnavailableError(`a deletion fails (${tables.join(', ')}): ${row.fault}`);
    }
    await sleep(waitMs, signal);
  }
}
