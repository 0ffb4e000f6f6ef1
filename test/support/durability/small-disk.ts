import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tellNotProved } from '../not-proved.ts';

const run = promisify(execFile);
const KIB = 1024;
/** Sizes of the blocks that fill the disk. They get smaller, so that almost no space remains. */
const STEPS_BYTES = [1024 * KIB, 64 * KIB, 4 * KIB];

/** A small file system. */
export interface SmallDisk {
  readonly path: string;
  /** Fills the remaining space. */
  fill(): void;
  /** Frees the space that `fill` took. */
  free(): void;
  unmount(): Promise<void>;
}

/**
 * Mounts a file system in memory. Returns undefined and prints a warning where mounting is not allowed (it needs root on
 * Linux).
 */
export async function mountSmallDisk(mib: number): Promise<SmallDisk | undefined> {
  const path = mkdtempSync(join(tmpdir(), 'spanscore-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path]);
  } catch (error) {
    rmSync(path, { recursive: true });
    tellNotProved(
      'a full disk',
      `none can be mounted here: ${String(error)}; run as root with the right to mount`,
      { isInstallable: false },
    );
    return undefined;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    fill: () => fillWith(ballast),
    free: () => rmSync(ballast, { force: true }),
    unmount: async () => {
      // Processes that were just killed may still have open files.
      await run('umount', ['--lazy', path]);
      rmSync(path, { recursive: true });
    },
  };
}

function fillWith(file: string): void {
  const handle = openSync(file, 'a');
  try {
    for (const bytes of STEPS_BYTES) {
      while (hasTaken(handle, Buffer.alloc(bytes))) {
        // No further block of this size fits.
      }
    }
  } finally {
    closeSync(handle);
  }
}

/** Writes a block. Returns false when the disk has no space for all of it. */
function hasTaken(handle: number, block: Buffer): boolean {
  try {
    return writeSync(handle, block) === block.length;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
      return false;
    }
    throw error;
  }
}
