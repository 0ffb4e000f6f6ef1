import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Address of a running engine: `<dataDir>/engine.json`, readable by its user only. */
export interface EngineAddress {
  /** The engine's own process. */
  readonly pid: number;
  /** Its start time, see `readProcessStart`; undefined where the system does not say. */
  readonly startedAt?: string | undefined;
  /** The process that started it and starts it again when it dies. */
  readonly ownerPid: number;
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

function formatFile(dataDir: string): string {
  return join(dataDir, 'engine.json');
}

/** The address that a directory's engine left, or undefined when there is none or it cannot be understood. */
export async function readEngineFile(dataDir: string): Promise<EngineAddress | undefined> {
  try {
    const parsed = JSON.parse(await readFile(formatFile(dataDir), 'utf8')) as Partial<EngineAddress> | null;
    const { pid, ownerPid, url, username, password } = parsed ?? {};
    const texts = [url, username, password].every((value) => typeof value === 'string');
    return texts && typeof pid === 'number' && typeof ownerPid === 'number'
      ? (parsed as EngineAddress)
      : undefined;
  } catch {
    // Absent or half-written by something else: the same as no engine; the engine's own lock decides.
    return undefined;
  }
}

/** Publishes an address in one step: readers see the old file or the new one. */
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
