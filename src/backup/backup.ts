import type { Config } from '../configuration.ts';
import { showBytes } from '../domain/byte-sizes.ts';
import {
  ConfigError,
  InvalidInputError,
  readErrorMessage,
  rejectAborted,
  StoreUnavailableError,
  NotFoundError,
  RequestError,
} from '../domain/errors.ts';
import { packageVersion } from '../process/package.ts';
import { readPurgeSecret } from '../config/data-folder.ts';
import { createPurgeKey } from '../purge/purge-key.ts';
import { readMoved, writeMoved } from '../store/embedded/data-folder.ts';
import { applyTombstones } from '../purge/purge.ts';
import { loadPurgeKey } from '../purge/configured-purge.ts';
import { watchPurgedTraces } from '../purge/purged-traces.ts';
import { connectStore, type StoreConnection, connectAlone } from '../store/connection/connect-store.ts';
import type { Log } from '../telemetry/log.ts';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  open,
  readdir,
  rm,
  stat,
  statfs,
  writeFile,
  readFile,
  realpath,
  symlink,
} from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';

/** Needs of a copy of a store: what its command hands over. */
export interface CopyOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/**
 * Makes a backup of the embedded engine, beside a running `serve` or without one. The folder has its description only when it is whole;
 * a backup that failed leaves an empty folder.
 * @param folder becomes the backup: absent or empty
 */
export async function makeBackup(config: Config, folder: string, options: CopyOptions): Promise<Manifest> {
  const { log, signal } = options;
  const { dataDir } = config.store;
  refuseServer(config, 'backup');
  const to = resolve(folder);
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
      return await fill(config, connection, to, options);
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
  to: string,
  { signal, onProgress }: CopyOptions,
): Promise<Manifest> {
  const { openBackupStore } = await import('../store/copies/backup-store.ts');
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
    const spanscore = packageVersion();
    const manifest = { format: 1, spanscore, schema, database, startedAt, bytes, tables } as const;
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
 * @param folder the backup, which is only read
 */
export async function restoreBackup(
  config: Config,
  folder: string,
  { log, signal, onProgress }: CopyOptions,
): Promise<RestoreReport> {
  refuseServer(config, 'restore');
  const from = resolve(folder);
  const manifest = await readManifest(from);
  const connection = await connectAlone(config, log, { command: 'restore', signal });
  try {
    const { openRestoreStore } = await import('../store/copies/restore-store.ts');
    const target = openRestoreStore(connection.options);
    try {
      await target.refuseUsed(manifest);
      await bringKey(config, from);
      await withLink(config.store, from, (link) =>
        target.load({ ...manifest, folder: link }, (table) => {
          rejectAborted(signal);
          onProgress(`restoring ${table}`);
        }),
      );
      const { openStore } = await import('../store/store.ts');
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

/** Name of the file that describes a backup. It is written last: a folder without it is no backup. */
const MANIFEST = 'backup.json';

/** Copy of the secret of tombstones in a backup. */
const KEY_FILE = 'purge.key';

/** File of a part of a table with its number of rows. */
const ROW_COUNT = /^data\/[^/]+\/[^/]+\/[^/]+\/count\.txt$/u;

const manifestSchema = z.object({
  format: z.literal(1),
  /** Version of the program. */
  spanscore: z.string(),
  /** Version of the schema. */
  schema: z.string(),
  database: z.string().regex(/^[A-Za-z_]\w*$/u),
  startedAt: z.iso.datetime(),
  bytes: z.number(),
  tables: z.record(z.string().regex(/^\w+$/u), z.object({ rows: z.number() })),
});

/** Description of a backup. */
export type Manifest = z.infer<typeof manifestSchema>;

/** Reads the description of a backup. Throws for a folder that is none. */
async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((error: unknown) => {
    throw new NotFoundError(
      `${folder} is no backup: it has no ${MANIFEST} (${readErrorMessage(error)}); name a folder that spanscore backup has finished`,
    );
  });
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new InvalidInputError(
      `${join(folder, MANIFEST)} cannot be read: ${error instanceof z.ZodError ? z.prettifyError(error) : readErrorMessage(error)}; use the version of spanscore that wrote it, or another backup`,
    );
  }
}

/** Counts the rows of the copy of a table. */
async function countRows(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true });
  const counts = files
    .filter((file) => ROW_COUNT.test(file))
    .map(async (file) => Number(await readFile(join(folder, file), 'utf8')));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/**
 * Does some work while the engine can use a folder, which it finds by a link in the folder that it may use.
 * @param work gets the name of the link
 */
async function withLink<T>(
  { dataDir }: Config['store'],
  folder: string,
  work: (name: string) => Promise<T>,
): Promise<T> {
  const backups = join(dataDir, 'backups');
  await mkdir(backups, { recursive: true, mode: 0o700 });
  const target = await realpath(folder);
  const name = hash('sha256', target).slice(0, 16);
  await rm(join(backups, name), { force: true });
  await symlink(target, join(backups, name));
  try {
    return await work(name);
  } finally {
    await rm(join(backups, name), { force: true });
  }
}

/** Throws for a configured server: it has its own backups. */
function refuseServer({ store }: Config, command: 'backup' | 'restore'): void {
  if (store.url !== undefined) {
    throw new ConfigError(
      `store.url is set: spanscore ${command} is for the embedded engine; use BACKUP and RESTORE of your ClickHouse server (docs/operations.md)`,
    );
  }
}

interface MoveTarget {
  /** Address of the target: a ClickHouse server, or another embedded engine. */
  readonly to: { readonly url: string; readonly username: string; readonly password: string };
  readonly database: string;
}

/** Result of a move. */
export interface MoveReport {
  readonly url: string;
  readonly database: string;
  /** True when an earlier move has ended there, for example one that was killed at its very end. Then nothing was copied. */
  readonly hasEndedBefore: boolean;
  /** Rows that this command has copied; a move that was interrupted has copied others before. */
  readonly copied: number;
}

/**
 * Copies the store of the embedded engine to a new database of another one while no other process uses it; then no `serve` starts on it
 * any more. After an interruption, the same command goes on; after the end, it only says so.
 */
export async function moveStore(
  config: Config,
  { to, database }: MoveTarget,
  { log, signal, onProgress }: CopyOptions,
): Promise<MoveReport> {
  const { dataDir, url } = config.store;
  if (url !== undefined) {
    throw new ConfigError(
      'store.url is set: spanscore move copies an embedded engine; to end a move that was interrupted, run it with the configuration of the embedded engine; for a ClickHouse server, use its BACKUP and RESTORE',
    );
  }
  const moved = readMoved(dataDir);
  if (moved !== undefined && (moved.url !== to.url || moved.database !== database)) {
    throw new InvalidInputError(
      `this store was moved to ${moved.url}, database ${moved.database}, before: name that target`,
    );
  }
  const connection = await connectAlone(config, log, { command: 'move', signal, existing: true });
  try {
    const { moveTables } = await import('../store/copies/move-store.ts');
    const copied = await moveTables(
      connection.options,
      { ...connection.options, ...to, database },
      {
        sourceId: createPurgeKey(readPurgeSecret(dataDir)).keyId,
        hasEnded: moved !== undefined,
        onProgress: (table) => {
          rejectAborted(signal);
          onProgress(table);
        },
        endSource: () => writeMoved(dataDir, { url: to.url, database }),
      },
    );
    return { url: to.url, database, hasEndedBefore: copied === undefined, copied: copied ?? 0 };
  } finally {
    await connection.release();
  }
}

/** Reads the address of a target, which may have a user name and a password. Throws for a text that is no address. */
export function parseTarget(text: string, password: string | undefined): MoveTarget['to'] {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new RequestError(
      `--to ${text}: write the HTTP address of a ClickHouse server, like http://host:8123`,
    );
  }
  return {
    url: url.origin,
    username: decodeURIComponent(url.username) || 'default',
    password: password ?? decodeURIComponent(url.password),
  };
}
