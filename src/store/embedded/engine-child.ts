/** Process of the engine: opens chdb when its parent asks, serves it on loopback, and ends with the parent. */
import { type EngineHost, EngineStartError, startEngineHost } from './engine-host.ts';
import { join } from 'node:path';
import { type FileLock, tryFileLock } from './file-lock.ts';
import type { OpenMessage, ToChild, ToParent } from './engine-process.ts';

const PARENT_CHECK_MS = 1_000;
let host: EngineHost | undefined;
let stopping = false;

function tell(message: ToParent): void {
  if (process.connected) {
    process.send?.(message);
  }
}

/** Ends this process with SIGKILL, because the exit handlers of the engine may wait for statements that never end. */
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

/** Kept until the end, because a garbage-collected lock is released. */
const locks: FileLock[] = [];

/** Locks the files of the engine for the life of this process, also when its owner has ended. */
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

// Ctrl-C in a terminal and SIGTERM of a supervisor reach the whole process group, but the parent still has to write to this
// process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => undefined);
}
