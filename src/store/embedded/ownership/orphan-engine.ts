import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readEngineFile, type EngineAddress } from '../engine-file.ts';
import type { EngineLog } from '../engine-supervisor.ts';
import { readProcessStart } from './process-start.ts';

/** Time that an engine may take to end after its owner ended, milliseconds. */
const GRACE_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;

/** Process that holds the files of an engine. */
export interface FileHolder {
  /** Undefined when the engine's files name no process. */
  readonly pid: number | undefined;
}

/** Reads which process holds the files of an engine. The engine wrote its pid there. */
export async function readFileHolder(enginePath: string): Promise<FileHolder> {
  const status = await readFile(join(enginePath, 'status'), 'utf8').catch(() => '');
  const pid = /PID: (\d+)/u.exec(status)?.[1];
  return { pid: pid === undefined ? undefined : Number(pid) };
}

/** Returns true when the engine of this address answers and accepts the password. */
export async function isAnswering(address: EngineAddress): Promise<boolean> {
  const credentials = Buffer.from(`${address.username}:${address.password}`).toString('base64');
  try {
    const reply = await fetch(`${address.url}/?query=SELECT+1`, {
      headers: { authorization: `Basic ${credentials}` },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    return reply.ok && (await reply.text()).trim() === '1';
  } catch {
    // No process answers, or the process is not an engine: `engine.json` is outdated.
    return false;
  }
}

/**
 * Creates a function that ends a hung engine whose owner has ended. Only the owner of the directory may call it: then no
 * other owner of that engine runs. It ends a process only when `engine.json` of this directory and the engine's files both
 * name it, its start time is the recorded one, and it gave no answer for 5 s.
 */
export function createOrphanEnder(dataDir: string, log: EngineLog): (holder: FileHolder) => Promise<void> {
  const startedAtMs = performance.now();
  return async ({ pid }) => {
    if (pid === undefined || performance.now() - startedAtMs < GRACE_MS) {
      return;
    }
    const address = await readEngineFile(dataDir);
    if (address?.pid !== pid || address.startedAt === undefined || (await isAnswering(address))) {
      return;
    }
    if ((await readProcessStart(pid)) === address.startedAt) {
      log.warn({ pid }, 'an engine of this directory whose owner has ended does not answer; it is killed');
      process.kill(pid, 'SIGKILL');
    }
  };
}
