import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const KIB = 1024;
/** Filled in ever smaller steps, so that hardly a block is left. */
const STEPS_BYTES = [1024 * KIB, 64 * KIB, 4 * KIB];

/** A file system of its own that is soon full. */
export interface SmallDisk {
  readonly path: string;
  /** Takes all the room that is left now. */
  fill(): void;
  /** Gives back what `fill` took. */
  free(): void;
  unmount(): Promise<void>;
}

/** Mounts one in memory; undefined, and said loudly, where mounting is not allowed (it takes root on Linux). */
export async function mountSmallDisk(mib: number): Promise<SmallDisk | undefined> {
  const path = mkdtempSync(join(tmpdir(), 'spanscore-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path]);
  } catch (error) {
    rmSync(path, { recursive: true });
    console.warn(`SKIPPED, NOT PROVED: a full disk, because none can be mounted here (${String(error)})`);
    return undefined;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    fill: () => fillWith(ballast),
    free: () => rmSync(ballast, { force: true }),
    unmount: async () => {
      // Processes that were killed a moment ago may still hold files open.
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
        // Until no such step fits.
      }
    }
  } finally {
    closeSync(handle);
  }
}

/** False when the disk has no room for all of it. */
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
