import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../domain/waits.ts';
import type { Log } from '../../telemetry/log.ts';
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

/** Message from parent to child, sent once, before any other. */
export interface OpenMessage {
  readonly type: 'open';
  /** Directory of the engine's files. */
  readonly enginePath: string;
  /** Data directory: the spool is here when there is no memory disk. */
  readonly dataDir: string;
  /** 0: any free port. */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly memoryLimitBytes: number;
  readonly chdbModule: string;
}

/** Message from parent to child: finish running statements, close, end. */
export interface StopMessage {
  readonly type: 'stop';
}

export type ToChild = OpenMessage | StopMessage;

/**
 * Reason why a child could not start: chdb is missing, another engine has the directory, the engine failed to open it (with
 * its message), the port is in use, or any other reason.
 */
export type FailureReason = 'missing' | 'locked' | 'unopened' | 'port' | 'other';

export interface ReadyMessage {
  readonly type: 'ready';
  readonly port: number;
}

export interface FailedMessage {
  readonly type: 'failed';
  readonly reason: FailureReason;
  readonly message: string;
}

export type ToParent = ReadyMessage | FailedMessage;

/** End of a child that was not asked to stop. */
export interface EngineExit {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SupervisorOptions {
  /** Settings of the next child: the same port and password. */
  readonly open: Omit<OpenMessage, 'type'>;
  readonly log: Log;
  readonly onExit: (exit: EngineExit) => void;
  /** Called for each new process, before its requests can succeed. */
  readonly onRestart: (process: EngineProcess) => Promise<void>;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** Lifetime after which a child is not part of a crash loop. */
const HEALTHY_MS = 30_000;
/** Time that the child has to end, milliseconds: above its own drain (3 s), below the last stage of a stop of `serve` (6 s). */
const STOP_GRACE_MS = 5_000;

/** Keeps one engine process running: starts it again when it ends, with growing pauses, until `stop`. */
export class EngineSupervisor {
  private current: EngineProcess;
  private stopping = false;
  private alive = true;
  private readonly wake = new AbortController();
  private readonly watching: Promise<void>;
  private readonly options: SupervisorOptions;

  constructor(first: EngineProcess, options: SupervisorOptions) {
    this.current = first;
    this.options = options;
    this.watching = this.watch();
  }

  get pid(): number {
    return this.current.pid;
  }

  /** False between the end of a child and the start of the next one. */
  get isAlive(): boolean {
    return this.alive;
  }

  /** True while another child starts in place of an ended one. */
  get isRestarting(): boolean {
    return !this.alive && !this.stopping;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.wake.abort();
    await this.end(this.current);
    await this.watching;
  }

  private async end(child: EngineProcess): Promise<void> {
    if ((await child.stop(STOP_GRACE_MS)) === 'killed') {
      const { pid } = child;
      this.options.log.warn(`the embedded engine did not end within ${STOP_GRACE_MS} ms; it was killed`, {
        pid,
      });
    }
  }

  private async watch(): Promise<void> {
    let backoffMs = FIRST_BACKOFF_MS;
    while (!this.stopping) {
      const startedAtMs = performance.now();
      const { pid } = this.current;
      const exit = await this.current.exited;
      this.alive = false;
      if (this.stopping) {
        return;
      }
      this.options.log.error('the embedded engine ended unexpectedly; restarting it', { pid, ...exit });
      this.options.onExit({ pid, ...exit });
      backoffMs = performance.now() - startedAtMs > HEALTHY_MS ? FIRST_BACKOFF_MS : backoffMs;
      backoffMs = await this.restart(backoffMs);
    }
  }

  /** Retries until a child serves or `stop` is called. Returns the pause before the next restart. */
  private async restart(firstBackoffMs: number): Promise<number> {
    let backoffMs = firstBackoffMs;
    while (!this.stopping) {
      await sleep(backoffMs, this.wake.signal);
      backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
      if (this.stopping) {
        break;
      }
      const outcome = await startEngineProcess(this.options.open, (line) =>
        this.options.log.warn('the embedded engine wrote to standard error', { line }),
      );
      if (!outcome.ok) {
        const { reason, message } = outcome;
        this.options.log.error('the embedded engine could not be started again', { reason, message });
        continue;
      }
      await this.adopt(outcome.process);
      break;
    }
    return backoffMs;
  }

  private async adopt(child: EngineProcess): Promise<void> {
    this.current = child;
    this.alive = true;
    if (this.stopping) {
      await this.end(child);
      return;
    }
    try {
      await this.options.onRestart(child);
    } catch (error) {
      this.options.log.error('the address of the embedded engine was not published', { error });
    }
    this.options.log.info('the embedded engine runs again', { pid: child.pid });
  }
}
