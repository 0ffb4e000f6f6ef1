import { stat } from 'node:fs/promises';
import { sleep } from '../domain/waits.ts';

/** Interval of the looks at files, milliseconds. Events of file systems do not come for mounted folders. */
const LOOK_EVERY_MS = 500;

interface WatchDeps {
  readonly onChange: () => void;
  /** Ends the looks. */
  readonly signal: AbortSignal;
}

/** Looks at files until the signal. A change is reported when it is complete: two looks in a row have seen the same. */
export async function watchFiles(
  listFiles: () => Promise<readonly string[]>,
  { onChange, signal }: WatchDeps,
): Promise<void> {
  const look = async () => {
    const files = await listFiles();
    return JSON.stringify(await Promise.all(files.map(async (file) => [file, await readMark(file)])));
  };
  let known = await look();
  let seen = known;
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, signal);
    const now = await look();
    if (now === seen && now !== known) {
      known = now;
      onChange();
    }
    seen = now;
  }
}

/** Returns what changes with each write of a file; null for one that is not there. */
async function readMark(file: string): Promise<string | null> {
  const found = await stat(file).catch(() => undefined);
  return found === undefined ? null : `${found.mtimeMs} ${found.size} ${found.ino}`;
}
