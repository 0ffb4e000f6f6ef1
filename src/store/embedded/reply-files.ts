import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { MIN_FREE_REPLY_BYTES } from './limits.ts';

const PREFIX = 'replies-';

/** Files into which the engine writes replies. Each reply has one private file, which is always removed. */
export interface ReplyFiles {
  /** Returns the path of a new file. */
  reserve(): string;
  remove(path: string): Promise<void>;
  /** False when a larger reply would take space that inserts need. */
  hasRoom(): Promise<boolean>;
  /** Removes the directory. */
  close(): Promise<void>;
}

/**
 * Creates a directory for the files in the data directory, mode 0700. Removes those of earlier processes that were killed: the caller
 * must own the lock of the data directory.
 */
export async function openReplyFiles(dataDir: string): Promise<ReplyFiles> {
  const leftovers = (await readdir(dataDir)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(leftovers.map((name) => rm(join(dataDir, name), { recursive: true, force: true })));
  const directory = await mkdtemp(join(dataDir, PREFIX));
  return {
    reserve: () => join(directory, randomUUID()),
    remove: (path) => rm(path, { force: true }),
    hasRoom: async () => {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize >= MIN_FREE_REPLY_BYTES;
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
