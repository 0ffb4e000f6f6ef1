import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { InvalidInputError, NotFoundError, readErrorMessage } from '../../domain/errors.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Name of the file that describes a backup. It is written last. */
const MANIFEST = 'backup.json';

/** Copy of the secret of tombstones in a backup. */
export const KEY_FILE = 'purge.key';

const manifestSchema = z.object({
  format: z.literal(1),
  /** Version of the program. */
  spanscore: z.string(),
  schema: z.int().positive(),
  database: z.string().regex(/^[A-Za-z_]\w*$/u),
  startedAt: z.iso.datetime(),
  bytes: z.number(),
  tables: z.record(z.string().regex(/^\w+$/u), z.object({ rows: z.number(), checksum: z.string() })),
});

/** Description of a backup. */
export type Manifest = z.infer<typeof manifestSchema>;

/** Writes the description of a backup. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
}

/** Reads the description of a backup. Throws for a folder that is none. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((error: unknown) => {
    throw new NotFoundError(
      `${folder} is no backup: it has no ${MANIFEST} (${readErrorMessage(error)}); name a folder that spanscore backup wrote`,
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

/** Returns the size of all files in a folder, bytes. */
export async function measureFolder(folder: string): Promise<number> {
  const files = await listFiles(folder);
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the free bytes of the disk of a path. */
export async function readFreeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

/** Returns true when both paths are on one disk. */
export async function isOneDisk(first: string, second: string): Promise<boolean> {
  const [one, other] = await Promise.all([stat(first), stat(second)]);
  return one.dev === other.dev;
}

/** Writes all files of a folder through to the disk. */
export async function syncFolder(folder: string): Promise<void> {
  for (const file of await listFiles(folder)) {
    await syncPath(file);
  }
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Returns the name of a folder until it is whole. */
export function nameUnfinished(to: string): string {
  return `${to}.partial`;
}

/**
 * Renames a folder. Returns false where that needs a copy: the new name is on another disk, or in another mount of the same disk, like the
 * second volume of a container.
 */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (isObject(error) && error['code'] === 'EXDEV') {
      return false;
    }
    throw error;
  }
}

/** Tries with an empty folder whether `moveFolder` will rename, without a copy. Throws when the new name cannot be written at all. */
export async function canRename(from: string, to: string): Promise<boolean> {
  const partial = nameUnfinished(to);
  // A folder takes the place of an empty one. A rename into a read-only mount would only say that it is another mount.
  await mkdir(partial, { recursive: true });
  try {
    await mkdir(from);
    return await tryRename(from, partial);
  } finally {
    await rm(from, { recursive: true, force: true });
    await rmdir(partial);
  }
}

/** Moves a folder to a new name, which is there only when the folder is whole. The disk may be another one. */
export async function moveFolder(from: string, to: string): Promise<void> {
  if (!(await tryRename(from, to))) {
    const partial = nameUnfinished(to);
    await mkdir(partial, { mode: 0o700 });
    try {
      await copyFolder(from, partial);
      await syncFolder(partial);
      await rename(partial, to);
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
    await rm(from, { recursive: true, force: true });
  }
  await syncPath(dirname(to));
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    await (entry.isDirectory() ? copyFolder(source, target) : copyFile(source, target));
  }
}
