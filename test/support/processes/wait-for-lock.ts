import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FileLock, tryFileLock } from '../../../src/store/embedded/file-lock.ts';

/** Locks a file that other test processes lock, too. Makes its folder when there is none. */
export async function waitForLock(path: string): Promise<FileLock> {
  mkdirSync(dirname(path), { recursive: true });
  for (;;) {
    const lock = tryFileLock(path);
    if (lock !== undefined) {
      return lock;
    }
    await sleep(500);
  }
}
