import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { showBytes } from '../../domain/byte-sizes.ts';
import { ConfigError, InvalidInputError, StoreUnavailableError } from '../../domain/errors.ts';
import type { RestoreSource, RestoreStore } from '../../store/contracts/backup.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { connectStore, type StoreConnection } from '../store/connect-store.ts';
import { KEY_FILE, measureFolder, readFreeBytes, readManifest, type Manifest } from './backup-files.ts';
import { BACKUPS, refuseServer, SPARE_BYTES } from './make-backup.ts';
import { refuseShared, repairTables, type Repairs } from './repair-tables.ts';

export interface RestoreOptions {
  /** Folder of the backup. It is only read. */
  readonly from: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/** Result of a restore. */
export interface RestoreReport extends Repairs {
  readonly manifest: Manifest;
}

/**
 * Restores a backup into a data directory without a store. Until the end, no other process can open the store: after an interruption, the
 * same command begins again.
 */
export async function restoreBackup(config: Config, options: RestoreOptions): Promise<RestoreReport> {
  const { log, signal } = options;
  refuseServer(config, 'restore');
  const from = resolve(options.from);
  const manifest = await readManifest(from);
  const connection = await connectStore(config, log, { command: 'restore', signal });
  try {
    refuseShared(config, connection);
    const { openRestoreStore } = await import('../../store/backup/restore-store.ts');
    const target = openRestoreStore(connection.options);
    try {
      await refuseUsed(target, config);
      await refuseFullDisk(from, config.store.dataDir);
      await bringKey(config, from);
      return await fill({ config, options, manifest, connection, target }, from);
    } finally {
      await target.close();
    }
  } finally {
    await connection.release();
  }
}

interface Restore {
  readonly config: Config;
  readonly options: RestoreOptions;
  readonly manifest: Manifest;
  readonly connection: StoreConnection;
  readonly target: RestoreStore;
}

async function fill(restore: Restore, from: string): Promise<RestoreReport> {
  const { config, options, manifest, connection, target } = restore;
  const folder = await linkBackup(config.store.dataDir, from);
  const source: RestoreSource = {
    ...manifest,
    folder: basename(folder),
    startedAtMs: Date.parse(manifest.startedAt),
  };
  try {
    await target.load(source, (table) => options.onProgress(`restoring ${table}`));
  } finally {
    await rm(folder, { force: true });
  }
  const repairs = await repairTables(config, { ...options, connection, target }, source.startedAtMs);
  return { manifest, ...repairs };
}

async function refuseUsed(target: RestoreStore, { store }: Config): Promise<void> {
  if (!['empty', 'restore'].includes(await target.readState())) {
    throw new InvalidInputError(
      `the data directory ${store.dataDir} has a store already: restore into another one with --data-dir, or move its folder away`,
    );
  }
}

async function refuseFullDisk(from: string, dataDir: string): Promise<void> {
  const [bytes, free] = await Promise.all([measureFolder(from), readFreeBytes(dataDir)]);
  if (free < bytes + SPARE_BYTES) {
    throw new StoreUnavailableError(
      `no room for the backup: it needs ${showBytes(bytes + SPARE_BYTES)} on the disk of ${dataDir}, and ${showBytes(free)} are free; free some, enlarge the disk, or name another directory with --data-dir`,
    );
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

/** Makes the backup readable for the engine, which reads in its backups folder only. Returns the link. */
async function linkBackup(dataDir: string, from: string): Promise<string> {
  const backups = join(dataDir, BACKUPS);
  await mkdir(backups, { recursive: true, mode: 0o700 });
  const link = join(backups, 'restored');
  await rm(link, { force: true });
  await symlink(await realpath(from), link);
  return link;
}
