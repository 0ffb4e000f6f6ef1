import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, readdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { showBytes } from '../../domain/byte-sizes.ts';
import {
  ConfigError,
  InvalidInputError,
  readErrorMessage,
  rejectAborted,
  StoreUnavailableError,
} from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { packageVersion } from '../package-version.ts';
import { connectStore, type StoreConnection } from '../store/connect-store.ts';
import { countRows, KEY_FILE, MANIFEST, refuseServer, withLink, type Manifest } from './backup-folder.ts';

export interface BackupOptions {
  /** Folder that becomes the backup. It is absent or empty. */
  readonly to: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/**
 * Makes a backup of the embedded engine, beside a running `serve` or without one. The folder has its description only when it is whole;
 * a backup that failed leaves an empty folder.
 */
export async function makeBackup(config: Config, options: BackupOptions): Promise<Manifest> {
  const { log, signal } = options;
  const { dataDir } = config.store;
  refuseServer(config, 'backup');
  const to = resolve(options.to);
  if (!relative(resolve(dataDir), to).startsWith('..')) {
    throw new InvalidInputError(
      `--to ${to} is in the data directory ${dataDir}: name a folder outside of it`,
    );
  }
  const connection = await connectStore(config, log, { command: 'backup', signal, existing: true });
  try {
    if (!existsSync(join(dataDir, 'engine-config.xml'))) {
      throw new ConfigError(
        `the ${connection.kind} on ${dataDir} uses a ClickHouse server: spanscore backup is for the embedded engine; use BACKUP of your server (docs/operations.md)`,
      );
    }
    await makeEmptyFolder(to);
    try {
      return await fill(config, connection, { ...options, to });
    } catch (error) {
      await empty(to);
      throw error;
    }
  } finally {
    await connection.release();
  }
}

async function makeEmptyFolder(to: string): Promise<void> {
  let names: readonly string[];
  try {
    await mkdir(to, { recursive: true });
    names = await readdir(to);
    if (names.length === 0) {
      await chmod(to, 0o700);
    }
  } catch (error) {
    throw new InvalidInputError(
      `--to ${to} cannot be made a folder for this user alone: ${readErrorMessage(error)}; name another folder`,
      {},
      error,
    );
  }
  if (names.length > 0) {
    throw new InvalidInputError(
      `--to ${to} is not empty: name a folder that does not exist yet, or delete what a backup has left there that was killed`,
    );
  }
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function fill(
  { store: { dataDir, ...settings } }: Config,
  connection: StoreConnection,
  { to, signal, onProgress }: BackupOptions,
): Promise<Manifest> {
  const { openBackupStore } = await import('../../store/copies/backup-store.ts');
  const store = openBackupStore(connection.options);
  try {
    const { database, schema, nowMs, bytes: needed } = await store.survey();
    await refuseFullDisk(to, needed);
    const names = await withLink({ dataDir, ...settings }, to, (link) =>
      store.copy(link, (table) => {
        rejectAborted(signal);
        onProgress(`copying ${table}`);
      }),
    );
    if (existsSync(join(dataDir, KEY_FILE))) {
      await copyFile(join(dataDir, KEY_FILE), join(to, KEY_FILE));
    }
    const tables: Record<string, { rows: number }> = {};
    for (const table of names) {
      tables[table] = { rows: await countRows(join(to, table)) };
    }
    const bytes = await sync(to);
    const startedAt = new Date(nowMs).toISOString();
    const manifest = {
      format: 1,
      spanscore: packageVersion(),
      schema,
      database,
      startedAt,
      bytes,
      tables,
    } as const;
    rejectAborted(signal);
    await writeFile(join(to, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    return manifest;
  } finally {
    await store.close();
  }
}

async function refuseFullDisk(to: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(to);
  if (bavail * bsize < needed) {
    throw new StoreUnavailableError(
      `no room for a backup: it needs ${showBytes(needed)} on the disk of ${to}, and ${showBytes(bavail * bsize)} are free; free some, or enlarge the disk`,
    );
  }
}

/** Writes all files of a folder through to the disk. Returns their size, bytes. */
async function sync(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      const handle = await open(path, 'r');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
      bytes += (await stat(path)).size;
    }
  }
  return bytes;
}
