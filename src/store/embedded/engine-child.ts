/** The engine's own process: opens chdb when its parent says so, serves it on loopback, and never outlives the parent. */
import { EngineStartError, startEngineHost, type EngineHost } from './engine-host.ts';
import { join } from 'node:path';
import { tryFileLock, type FileLock } from './ownership/file-lock.ts';
import type { OpenMessage, ToChild, ToParent } from './engine-messages.ts';

const PARENT_CHECK_MS = 1_000;
let host: EngineHost | undefined;
let stopping = false;

function tell(message: ToParent): void {
  if (process.connected) {
    process.send?.(message);
  }
}

/** Ends this process. By SIGKILL, because the engine's own exit handlers may wait for statements that never end. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function stop(): Promise<void> {
  if (stopping) {
    return;
  }
  stopping = true;
  try {
    await host?.stop();
  } finally {
    end();
  }
}

/** Referred to until the end: a lock that is collected as garbage is released. */
const locks: FileLock[] = [];

/** Holds the engine's files for as long as this process lives, whether its owner does or not. */
function lockFiles({ dataDir }: OpenMessage): void {
  const lock = tryFileLock(join(dataDir, 'engine.lock'));
  if (lock === undefined) {
    throw new EngineStartError('locked', 'another engine has the files', undefined);
  }
  locks.push(lock);
}

async function open(message: OpenMessage): Promise<void> {
  try {
    lockFiles(message);
    host = await startEngineHost(message, end);
    tell({ type: 'ready', port: host.port });
  } catch (error) {
    const reason = error instanceof EngineStartError ? error.reason : 'other';
    tell({ type: 'failed', reason, message: error instanceof Error ? error.message : String(error) });
  }
}

function onMessage(message: ToChild): void {
  void (message.type === 'open' ? open(message) : stop());
}

const parentPid = process.ppid;
process.on('message', onMessage);
process.on('disconnect', () => void stop());
setInterval(() => {
  if (process.ppid !== parentPid) {
    void stop();
  }
}, PARENT_CHECK_MS);

// A terminal's Ctrl-C and a supervisor's SIGTERM reach the whole group; the parent still has to drain into this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => undefined);
}
