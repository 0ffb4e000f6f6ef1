import { setTimeout as sleep } from 'node:timers/promises';
import { quoteName } from '../values.ts';
import type { ChdbSession } from './session-pool.ts';

/** First and longest wait between two looks at the rewrites under way, milliseconds. A look that finds progress begins anew. */
const LOOK_MS = { first: 50, longest: 500 };

/** Lists each table with parts to rewrite, with their number. A rewrite that fails is left to the engine's own times. */
const OPEN = `SELECT database, table, sum(parts_to_do) FROM system.mutations
  WHERE NOT is_done AND latest_fail_reason = '' GROUP BY database, table`;

/**
 * Creates what wakes the background tasks of tables whose rows an `ALTER TABLE … DELETE` or `UPDATE` rewrites. A task rewrites as many parts
 * as it has threads for, and then sleeps as if it had nothing to do (`TASK_SLEEP_S`): of 45 parts this takes 42 s, and 1.2 s woken.
 */
export function createMutationWaker(session: ChdbSession) {
  const changes = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;

  async function look(): Promise<string> {
    const reply = await session.queryAsync(OPEN, { format: 'TSV' });
    const open = Buffer.from(reply.bytes()).toString().trim();
    for (const line of open === '' ? [] : open.split('\n')) {
      const [database = '', table = ''] = line.split('\t');
      const name = `${quoteName(database)}.${quoteName(table)}`;
      await session.queryAsync(`SYSTEM START MERGES ${name}`, { format: 'Null' });
    }
    return open;
  }

  async function lookUntilDone(): Promise<void> {
    let open = '';
    let waitMs: number = LOOK_MS.first;
    do {
      await sleep(waitMs);
      const former = open;
      open = await look();
      waitMs = open === former ? Math.min(2 * waitMs, LOOK_MS.longest) : LOOK_MS.first;
    } while (!stopping.signal.aborted && (open !== '' || changes.size > 0));
  }

  return {
    /** Wakes tables until a change has ended, and no table has parts to rewrite. */
    watch(change: Promise<unknown>): void {
      changes.add(change);
      change.catch(() => undefined).finally(() => changes.delete(change));
      // An engine that does not answer has other watches; the rewrites go on without this one.
      looking ??= lookUntilDone()
        .catch(() => undefined)
        .finally(() => (looking = undefined));
    },
    /** Ends the looks, and closes the session. */
    async stop(): Promise<void> {
      stopping.abort();
      await looking;
      session.close();
    },
  };
}
