import { existsSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConfigError, rejectAborted } from '../../domain/errors.ts';
import { applyTombstones } from '../../purge/apply-tombstones.ts';
import { watchPurgedTraces } from '../../purge/purged-traces.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { loadPurgeKey } from '../jobs/purges.ts';
import { connectAlone } from '../store/connect-store.ts';
import { KEY_FILE, readManifest, refuseServer, withLink, type Manifest } from './backup-folder.ts';

export interface RestoreOptions {
  /** Folder of the backup. It is only read. */
  readonly from: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/** Result of a restore. */
export interface RestoreReport {
  readonly manifest: Manifest;
  /** Decisions whose score is made again. */
  readonly reopened: number;
  /** Rows of purged traces that the backup had, by table. */
  readonly purged: Readonly<Record<string, number>>;
}

/**
 * Restores a backup into a data directory without a store. Until the end, no other process can open the store: after an interruption, the
 * same command begins again.
 */
export async function restoreBackup(config: Config, options: RestoreOptions): Promise<RestoreReport> {
  const { log, signal, onProgress } = options;
  refuseServer(config, 'restore');
  const from = resolve(options.from);
  const manifest = await readManifest(from);
  const connection = await connectAlone(config, log, { command: 'restore', signal });
  try {
    const { openRestoreStore } = await import('../../store/copies/restore-store.ts');
    const target = openRestoreStore(connection.options);
    try {
      await target.refuseUsed(manifest);
      await bringKey(config, from);
      await withLink(config.store, from, (folder) =>
        target.load({ ...manifest, folder }, (table) => {
          rejectAborted(signal);
          onProgress(`restoring ${table}`);
        }),
      );
      const { openStore } = await import('../../store/store.ts');
      const store = await openStore({ ...connection.options, log, unfinished: true });
      try {
        const { tombstones, purges, spans } = store;
        const key = loadPurgeKey(config.store);
        const watch = await watchPurgedTraces({ tombstones, nowMs: () => spans.nowMs(), key, log });
        watch.stop();
        const reopened = await target.reopenLostScores();
        const sinceMs = Date.parse(manifest.startedAt);
        const purged = await applyTombstones(purges, { key, sinceMs, signal });
        await target.finish();
        return { manifest, reopened, purged };
      } finally {
        await store.close();
      }
    } finally {
      await target.close();
    }
  } finally {
    await connection.release();
  }
}

/** Brings the secret of the tombstones along, without which they cannot be recognised. */
async function bringKey({ store }: Config, from: string): Promise<void> {
  const [copied, own] = [join(from, KEY_FILE), join(store.dataDir, KEY_FILE)];
  if (store.purgeKey !== undefined || !existsSync(copied)) {
    return;
  }
  if (!existsSync(own)) {
    await copyFile(copied, own);
  } else if ((await readFile(own, 'utf8')) !== (await readFile(copied, 'utf8'))) {
    throw new ConfigError(
      `${own} is another key than that of the backup: move it away, or restore into another data directory`,
    );
  }
}
