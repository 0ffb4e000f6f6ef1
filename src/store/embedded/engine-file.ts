import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Address of a running engine: `<dataDir>/engine.json`, readable by its user only. */
export interface EngineAddress {
  /** Process of the engine. */
  readonly pid: number;
  /** Start time of the process, see `readProcessStart`; undefined when the system does not report it. */
  readonly startedAt?: string | undefined;
  /** Process that started the engine and restarts it. */
  readonly ownerPid: number;
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

function formatFile(dataDir: string): string {
  return join(dataDir, 'engine.json');
}

/** Reads the address of the engine of a directory; undefined when there is none or it is unreadable. */
export async function readEngineFile(dataDir: string): Promise<EngineAddress | undefined> {
  try {
    const parsed = JSON.parse(await readFile(formatFile(dataDir), 'utf8')) as Partial<EngineAddress> | null;
    const { pid, ownerPid, url, username, password } = parsed ?? {};
    const texts = [url, username, password].every((value) => typeof value === 'string');
    return texts && typeof pid === 'number' && typeof ownerPid === 'number'
      ? (parsed as EngineAddress)
      : undefined;
  } catch {
    // An absent or foreign file means no engine; the lock of the engine decides.
    return undefined;
  }
}

/** Publishes an address in one step: readers see the old or the new file. */
export async function writeEngineFile(dataDir: string, address: EngineAddress): Promise<void> {
  const draft = `${formatFile(dataDir)}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(address, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, formatFile(dataDir));
}

/** Removes the file if it is still the one of this address. */
export async function removeEngineFile(dataDir: string, address: EngineAddress): Promise<void> {
  const current = await readEngineFile(dataDir);
  if (current?.password === address.password) {
    await rm(formatFile(dataDir), { force: true });
  }
}
