import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError, InvalidInputError, NotFoundError, readErrorMessage } from '../../domain/errors.ts';
import type { Config } from '../config/index.ts';

/** Name of the file that describes a backup. It is written last: a folder without it is no backup. */
export const MANIFEST = 'backup.json';

/** Copy of the secret of tombstones in a backup. */
export const KEY_FILE = 'purge.key';

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
export async function readManifest(folder: string): Promise<Manifest> {
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
export async function countRows(folder: string): Promise<number> {
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
export async function withLink<T>(
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
export function refuseServer({ store }: Config, command: 'backup' | 'restore'): void {
  if (store.url !== undefined) {
    throw new ConfigError(
      `store.url is set: spanscore ${command} is for the embedded engine; use BACKUP and RESTORE of your ClickHouse server (docs/operations.md)`,
    );
  }
}
