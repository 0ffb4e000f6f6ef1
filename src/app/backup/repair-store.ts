import { SECOND_MS } from '../../domain/durations.ts';
import { AppError, NotFoundError, StoreRejectedError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import { MEMBER_TTL_MS } from '../../ownership/ownership.ts';
import type { RestoreStore } from '../../store/contracts/backup.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { connectStore, type StoreConnection } from '../store/connect-store.ts';
import { refuseShared, repairTables, type Repairs } from './repair-tables.ts';

export interface RepairOptions {
  /** Beginning of the backup, Unix milliseconds. */
  readonly sinceMs: number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Makes the tables of a store agree that the server itself has restored. Until the end, no other process can open the store: after an
 * interruption, the same command begins again.
 */
export async function repairStore(config: Config, options: RepairOptions): Promise<Repairs> {
  const { log, signal, sinceMs } = options;
  const connection = await connectStore(config, log, { command: 'repair', signal, existing: true });
  try {
    refuseShared(config, connection);
    const { openRestoreStore } = await import('../../store/backup/restore-store.ts');
    const target = openRestoreStore(connection.options);
    try {
      await refuseUnrestored(target, connection);
      await refuseLive(target);
      await target.begin();
      return await repairTables(config, { connection, target, log, signal }, sinceMs);
    } finally {
      await target.close();
    }
  } finally {
    await connection.release();
  }
}

async function refuseUnrestored(target: RestoreStore, { kind, options }: StoreConnection): Promise<void> {
  const state = await target.readState();
  if (state === 'empty') {
    throw new NotFoundError(
      `database "${options.database}" of the ${kind} has no tables: restore the backup of the server first, or set store.database`,
    );
  }
  if (state !== 'used' && state !== 'repair') {
    throw new StoreRejectedError(
      `database "${options.database}" is not complete: run spanscore ${state} again, which makes its tables agree`,
    );
  }
}

async function refuseLive(target: RestoreStore): Promise<void> {
  const live = await target.listLive(MEMBER_TTL_MS);
  if (live.length > 0) {
    throw new AppError(
      `${formatCount(live.length, 'process', 'processes')} of spanscore used the store within the last ${MEMBER_TTL_MS / SECOND_MS} s: stop every serve on it, then run the command again after this time`,
      { code: 'store_in_use', stage: 'store', retryable: true },
    );
  }
}
