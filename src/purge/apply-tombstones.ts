import { randomUUID } from 'node:crypto';
import type { PurgeHashKey, PurgeStore } from '../store/contracts/purge.ts';

export interface BuriedRows {
  readonly key: PurgeHashKey;
  /** Time since which tenants may have been purged, Unix milliseconds. */
  readonly sinceMs: number;
  readonly signal: AbortSignal;
}

/**
 * Deletes rows whose traces have a tombstone: copies of tables that are older than the purge. Returns the number of rows of each
 * table that had some.
 */
export async function applyTombstones(
  purges: PurgeStore,
  { key, sinceMs, signal }: BuriedRows,
): Promise<Readonly<Record<string, number>>> {
  const id = randomUUID();
  await purges.collectBuried(id, key, sinceMs);
  const { traces, sessions, tenants } = await purges.readExtent(id);
  if (traces + sessions + tenants.length === 0) {
    return {};
  }
  await purges.complete(id, undefined);
  const rows = await purges.count(id);
  await purges.remove(id, Object.keys(rows), signal);
  await purges.reopenSessions(id);
  await purges.forget(id);
  return rows;
}
