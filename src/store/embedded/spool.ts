import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdtemp, open, readdir, realpath, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EngineError } from './engine-error.ts';
import { MIN_FREE_REPLY_BYTES } from './limits.ts';

/** Smaller memory disks are not used. Containers often have one of 64 MB. */
const MIN_MEMORY_DISK_BYTES = 512 * 1024 * 1024;
const MEMORY_DISK = '/dev/shm';
/** Error codes of a full file system. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT']);
const WRITE_BYTES = 1024 * 1024;

async function isLarge(memoryDisk: string): Promise<boolean> {
  try {
    const disk = await statfs(memoryDisk);
    return disk.bavail * disk.bsize >= MIN_MEMORY_DISK_BYTES;
  } catch {
    // This system has no memory disk: the spool uses the data directory.
    return false;
  }
}

/**
 * Creates a directory for the spool of this data directory, mode 0700. Removes the directories of earlier processes that
 * were killed.
 */
async function freshDirectory(dataDir: string, memoryDisk: string): Promise<string> {
  const id = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex')
    .slice(0, 16);
  const prefix = (await isLarge(memoryDisk)) ? join(memoryDisk, `spanscore-${id}-`) : join(dataDir, 'spool-');
  const parent = dirname(prefix);
  const leftovers = (await readdir(parent)).filter((name) => name.startsWith(basename(prefix)));
  await Promise.all(
    // Another user may have made a directory with our prefix. It cannot be removed and does no harm, because our directory
    // has a new name.
    leftovers.map((name) => rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined)),
  );
  return mkdtemp(prefix);
}

/** Writes in large steps: one write for each chunk costs twice the processor time. */
async function writeGathered(
  file: FileHandle,
  data: AsyncIterable<Uint8Array>,
  account: (bytes: number) => void,
): Promise<void> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of data) {
    account(chunk.length);
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes >= WRITE_BYTES) {
      await file.writev(gathered);
      gathered = [];
      bytes = 0;
    }
  }
  if (gathered.length > 0) {
    await file.writev(gathered);
  }
}

/** Converts the error of a full disk. The data itself may be valid, so the error must tell clients that they can retry. */
function describeSpoolError(error: unknown, directory: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return NO_ROOM.has(code)
    ? new EngineError(
        'NOT_ENOUGH_SPACE',
        `There is no room for the data of an insert in ${directory} (${code})`,
      )
    : error;
}

/** Files with the data of inserts for the engine. Each insert has one private file, which is always removed. */
export type Spool = Awaited<ReturnType<typeof openSpool>>;

/** Opens an empty spool. The caller must own the lock of the data directory. */
export async function openSpool(
  dataDir: string,
  limits: { maxFileBytes: number; maxTotalBytes: number },
  memoryDisk = MEMORY_DISK,
) {
  const directory = await freshDirectory(dataDir, memoryDisk);
  const sizes = new Map<string, number>();
  let totalBytes = 0;

  function account(path: string, bytes: number): void {
    const size = (sizes.get(path) ?? 0) + bytes;
    sizes.set(path, size);
    totalBytes += bytes;
    if (size > limits.maxFileBytes) {
      throw new EngineError(
        'QUERY_IS_TOO_LARGE',
        `The data of one insert may have ${limits.maxFileBytes} bytes at most; send smaller batches`,
      );
    }
    if (totalBytes > limits.maxTotalBytes) {
      throw new EngineError(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        `Too many simultaneous inserts: more than ${limits.maxTotalBytes} bytes wait; try again later`,
      );
    }
  }

  async function remove(path: string): Promise<void> {
    totalBytes -= sizes.get(path) ?? 0;
    sizes.delete(path);
    await rm(path, { force: true });
  }

  /**
   * Writes the whole stream to a new file. Returns its path when the sender has sent everything. Throws `EngineError` when
   * the data is larger than allowed or the disk is full. Removes the file on an error, also when the sender aborts.
   */
  async function write(data: AsyncIterable<Uint8Array>): Promise<string> {
    const path = join(directory, randomUUID());
    const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
      throw describeSpoolError(error, directory);
    });
    try {
      await writeGathered(file, data, (bytes) => account(path, bytes));
    } catch (error) {
      await remove(path);
      throw describeSpoolError(error, directory);
    } finally {
      await file.close();
    }
    return path;
  }

  return { write, remove, close: () => rm(directory, { recursive: true, force: true }) };
}

const PREFIX = 'replies-';

/** Files into which the engine writes replies. Each reply has one private file, which is always removed. */
export type ReplyFiles = Awaited<ReturnType<typeof openReplyFiles>>;

/**
 * Creates a directory for the files in the data directory, mode 0700. Removes those of earlier processes that were killed: the caller
 * must own the lock of the data directory.
 */
export async function openReplyFiles(dataDir: string) {
  const leftovers = (await readdir(dataDir)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(leftovers.map((name) => rm(join(dataDir, name), { recursive: true, force: true })));
  const directory = await mkdtemp(join(dataDir, PREFIX));
  return {
    /** Returns the path of a new file. */
    reserve: () => join(directory, randomUUID()),
    remove: (path: string) => rm(path, { force: true }),
    /** False when a larger reply would take space that inserts need. */
    hasRoom: async () => {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize >= MIN_FREE_REPLY_BYTES;
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
