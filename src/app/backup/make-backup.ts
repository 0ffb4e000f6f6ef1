import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { showBytes, MIB } from '../../domain/byte-sizes.ts';
import {
  ConfigError,
  InvalidInputError,
  readErrorMessage,
  rejectAborted,
  StoreUnavailableError,
} from '../../domain/errors.ts';
import type { BackupSurvey } from '../../store/contracts/backup.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { packageVersion } from '../package-version.ts';
import { connectStore } from '../store/connect-store.ts';
import { withFileLock } from '../store/with-file-lock.ts';
import {
  canRename,
  isOneDisk,
  KEY_FILE,
  measureFolder,
  moveFolder,
  nameUnfinished,
  readFreeBytes,
  syncFolder,
  writeManifest,
  type Manifest,
} from './backup-files.ts';

/** Room that the engine needs beside a copy: it refuses inserts when less is free. */
export const SPARE_BYTES = 512 * MIB;

/** Room for the rest of the last block of each file. */
const SMALL_FILES_BYTES = 16 * MIB;

/** Folder of copies within the data directory; the configuration of the engine allows it. */
export const BACKUPS = 'backups';

/** Beginning of the names of unfinished backups. */
const UNFINISHED = 'unfinished-';

export interface BackupOptions {
  /** Folder that becomes the backup. It is absent or empty. */
  readonly to: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/**
 * Makes a backup of the embedded engine, beside a running `serve` or without one: in the data directory, then reads it back, then moves
 * it to its place.
 */
export async function makeBackup(config: Config, options: BackupOptions): Promise<Manifest> {
  const { log, signal, onProgress } = options;
  const { dataDir } = config.store;
  refuseServer(config, 'backup');
  const to = resolve(options.to);
  await refuseTarget(to, dataDir);
  const connection = await connectStore(config, log, { command: 'backup', signal, existing: true });
  try {
    await refuseForeignStore(dataDir, connection.kind);
    const backups = join(dataDir, BACKUPS);
    await mkdir(backups, { recursive: true, mode: 0o700 });
    const refusal = 'another spanscore backup of this data directory is at work: wait for its end';
    return await withFileLock(join(backups, 'backup.lock'), refusal, async () => {
      await removeUnfinished(backups);
      const { openBackupStore } = await import('../../store/backup/backup-store.ts');
      const store = openBackupStore(connection.options);
      const name = `${UNFINISHED}${randomUUID()}`;
      const folder = join(backups, name);
      try {
        const survey = await store.survey();
        const isCopied = !(await canRename(folder, to).catch((error: unknown) => {
          throw unwritableError(to, error);
        }));
        await refuseFullDisk(survey, { dataDir, to, isCopied });
        await mkdir(folder, { mode: 0o700 });
        const tables = await store.copy(name, (table) => {
          rejectAborted(signal);
          onProgress(`copying and reading back: ${table}`);
        });
        await copyKey(dataDir, folder);
        const manifest = await describe(folder, survey, tables);
        await writeManifest(folder, manifest);
        await syncFolder(folder);
        rejectAborted(signal);
        await moveFolder(folder, to).catch((error: unknown) => {
          throw unwritableError(to, error);
        });
        return manifest;
      } finally {
        await rm(folder, { recursive: true, force: true });
        await store.close();
      }
    });
  } finally {
    await connection.release();
  }
}

/** Throws for a configured server: it has its own backups. */
export function refuseServer({ store }: Config, command: 'backup' | 'restore'): void {
  if (store.url !== undefined) {
    throw new ConfigError(
      `store.url is set: spanscore ${command} is for the embedded engine; use BACKUP and RESTORE of your ClickHouse server (docs/operations.md)`,
    );
  }
}

async function refuseForeignStore(dataDir: string, kind: string): Promise<void> {
  if (!existsSync(join(dataDir, 'engine-config.xml'))) {
    throw new ConfigError(
      `the ${kind} on ${dataDir} uses a ClickHouse server: spanscore backup is for the embedded engine; use BACKUP of your server (docs/operations.md)`,
    );
  }
}

async function refuseTarget(to: string, dataDir: string): Promise<void> {
  if (!relative(resolve(dataDir), to).startsWith('..')) {
    throw new InvalidInputError(
      `--to ${to} is in the data directory ${dataDir}: name a folder outside of it`,
    );
  }
  if (await isTaken(to)) {
    throw new InvalidInputError(`--to ${to} exists and is not empty: name a folder that does not exist yet`);
  }
  const partial = nameUnfinished(to);
  if (await isTaken(partial)) {
    throw new InvalidInputError(
      `${partial} is left of a backup that was killed, or is yours: delete or rename it, or name another folder with --to`,
    );
  }
  await mkdir(dirname(to), { recursive: true }).catch((error: unknown) => {
    throw unwritableError(to, error);
  });
}

/** Returns true for a file, and for a folder that is not empty. */
async function isTaken(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && (!found.isDirectory() || (await readdir(path)).length > 0);
}

function unwritableError(to: string, cause: unknown): InvalidInputError {
  return new InvalidInputError(
    `--to ${to} cannot be written: ${readErrorMessage(cause)}; nothing is left there, so name another folder or make room`,
    {},
    cause,
  );
}

/** Places of a backup: it is made in the data directory, and then moved or copied to its name. */
interface Places {
  readonly dataDir: string;
  readonly to: string;
  readonly isCopied: boolean;
}

/** A copy of all tables is made beside them, and one table at a time is restored to read it back. Another copy may follow. */
async function refuseFullDisk(
  { bytes: size, largestBytes }: BackupSurvey,
  { dataDir, to, isCopied }: Places,
): Promise<void> {
  const target = dirname(to);
  // Small files take whole blocks of a disk.
  const copyBytes = isCopied ? size * 1.1 + SMALL_FILES_BYTES : 0;
  const needs: (readonly [string, number])[] = (await isOneDisk(dataDir, target))
    ? [[dataDir, size + Math.max(largestBytes, copyBytes) + SPARE_BYTES]]
    : [
        [dataDir, size + largestBytes + SPARE_BYTES],
        [target, copyBytes],
      ];
  for (const [path, bytes] of needs) {
    const free = await readFreeBytes(path);
    if (free < bytes) {
      throw new StoreUnavailableError(
        `no room for a backup: it needs ${showBytes(bytes)} on the disk of ${path}, and ${showBytes(free)} are free; free some, or enlarge the disk`,
      );
    }
  }
}

/** Removes what killed backups have left. */
async function removeUnfinished(backups: string): Promise<void> {
  for (const name of await readdir(backups)) {
    if (name.startsWith(UNFINISHED)) {
      await rm(join(backups, name), { recursive: true, force: true });
    }
  }
}

async function copyKey(dataDir: string, folder: string): Promise<void> {
  const key = join(dataDir, KEY_FILE);
  if (existsSync(key)) {
    await copyFile(key, join(folder, KEY_FILE));
  }
}

async function describe(
  folder: string,
  { schema, database, nowMs }: BackupSurvey,
  tables: Manifest['tables'],
): Promise<Manifest> {
  return {
    format: 1,
    spanscore: packageVersion(),
    schema,
    database,
    startedAt: new Date(nowMs).toISOString(),
    bytes: await measureFolder(folder),
    tables,
  };
}
