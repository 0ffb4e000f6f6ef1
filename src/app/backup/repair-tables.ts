import { AppError } from '../../domain/errors.ts';
import { applyTombstones } from '../../purge/apply-tombstones.ts';
import { watchPurgedTraces } from '../../purge/purged-traces.ts';
import type { RestoreStore } from '../../store/contracts/backup.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { loadPurgeKey } from '../jobs/purges.ts';
import type { StoreConnection } from '../store/connect-store.ts';

/** Repairs of tables that were copied at different times. */
export interface Repairs {
  /** Decisions whose score is made again. */
  readonly reopened: number;
  /** Rows of purged traces that the backup had, by table. */
  readonly purged: Readonly<Record<string, number>>;
}

/** Store to repair. */
export interface RepairedStore {
  readonly connection: StoreConnection;
  readonly target: RestoreStore;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Throws for an embedded engine that another process uses. */
export function refuseShared({ store }: Config, { kind, engine }: StoreConnection): void {
  if (store.url === undefined && engine === undefined) {
    throw new AppError(
      `the ${kind} uses the data directory ${store.dataDir}: stop it, or name another directory with --data-dir`,
      { code: 'store_in_use', stage: 'store', retryable: true },
    );
  }
}

/**
 * Makes restored tables agree, and lets other processes use them. Updates the schema of an older backup first.
 * @param startedAtMs beginning of the backup, Unix milliseconds
 */
export async function repairTables(
  config: Config,
  { connection, target, log, signal }: RepairedStore,
  startedAtMs: number,
): Promise<Repairs> {
  const { openStore } = await import('../../store/store.ts');
  const store = await openStore({ ...connection.options, log, unfinished: true });
  try {
    const { tombstones, purges, spans } = store;
    const key = loadPurgeKey(config.store);
    const watch = await watchPurgedTraces({ tombstones, nowMs: () => spans.nowMs(), key, log });
    watch.stop();
    const reopened = await target.repair(startedAtMs);
    const purged = await applyTombstones(purges, { key, sinceMs: startedAtMs, signal });
    await target.finish();
    return { reopened, purged };
  } finally {
    await store.close();
  }
}
