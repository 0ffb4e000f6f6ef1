import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FailureReason, OpenMessage, ToChild, ToParent } from './engine-messages.ts';
import { THREAD_POOL_SIZE } from './limits.ts';

/** A child process that serves the engine. */
export interface EngineProcess {
  readonly pid: number;
  readonly port: number;
  /** Settles when the process has ended, for any reason. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Asks the process to end and kills it after `graceMs`. Returns how it ended. */
  stop(graceMs: number): Promise<'ended' | 'killed'>;
}

export type LaunchOutcome =
  | { readonly ok: true; readonly process: EngineProcess }
  | { readonly ok: false; readonly reason: FailureReason; readonly message: string };

/** Source and build output differ in the extension only. */
function childScript(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./engine-child.${extension}`, import.meta.url));
}

/** Variables that the engine's process needs. A statement can read `/proc/self/environ`, so it gets no keys and tokens. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

function forkChild(): ChildProcess {
  const inherited = Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
  return fork(childScript(), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // Both values must be set before the process creates its first thread.
    env: { ...inherited, UV_THREADPOOL_SIZE: String(THREAD_POOL_SIZE), TZ: 'UTC' },
  });
}

function send(child: ChildProcess, message: ToChild): void {
  if (child.connected) {
    // The exit of the child is reported elsewhere, also when it ends at this moment.
    child.send(message, () => undefined);
  }
}

async function stopChild(
  child: ChildProcess,
  exited: Promise<unknown>,
  graceMs: number,
): Promise<'ended' | 'killed'> {
  send(child, { type: 'stop' });
  let end: 'ended' | 'killed' = 'ended';
  const timer = setTimeout(() => {
    end = 'killed';
    child.kill('SIGKILL');
  }, graceMs);
  await exited;
  clearTimeout(timer);
  return end;
}

/** Starts a child and waits until it serves or reports its failure; `onLog` gets its standard error. */
export async function startEngineProcess(
  open: Omit<OpenMessage, 'type'>,
  onLog: (line: string) => void,
): Promise<LaunchOutcome> {
  const child = forkChild();
  let lastWords = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-2_000);
    onLog(text.trimEnd());
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    // 'close' comes after the last of standard error.
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const answer = new Promise<ToParent>((resolve) => {
    child.once('message', (message) => resolve(message as ToParent));
  });
  const died = exited.then(({ code, signal }): ToParent => ({
    type: 'failed',
    reason: 'other',
    message: `The engine's process ended at its start (code ${code}, signal ${signal}): ${lastWords.trim()}`,
  }));
  send(child, { type: 'open', ...open });
  const first = await Promise.race([answer, died]);
  if (first.type === 'failed') {
    child.kill('SIGKILL');
    await exited;
    // Every failure to open looks the same to the child; the message of the engine shows whether another ClickHouse has the
    // lock.
    const isLock = first.reason === 'unopened' && /cannot lock file/iu.test(lastWords);
    const reason = isLock ? 'locked' : first.reason;
    return { ok: false, reason, message: isLock ? first.message : `${first.message} ${lastWords}`.trim() };
  }
  return {
    ok: true,
    process: {
      pid: child.pid ?? 0,
      port: first.port,
      exited,
      stop: (graceMs) => stopChild(child, exited, graceMs),
    },
  };
}
