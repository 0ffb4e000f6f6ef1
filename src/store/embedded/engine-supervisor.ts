import { readErrorMessage } from '../../domain/errors.ts';
import type { OpenMessage } from './engine-messages.ts';
import { startEngineProcess, type EngineProcess } from './engine-process.ts';

/** Log of the embedded engine. */
export interface EngineLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** End of a child that was not asked to stop. */
export interface EngineExit {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SupervisorOptions {
  /** Settings of the next child: the same port and password. */
  readonly open: Omit<OpenMessage, 'type'>;
  readonly log: EngineLog;
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
      this.options.log.warn(
        { pid },
        `the embedded engine did not end within ${STOP_GRACE_MS} ms; it was killed`,
      );
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
      this.options.log.error({ pid, ...exit }, 'the embedded engine ended unexpectedly; restarting it');
      this.options.onExit({ pid, ...exit });
      backoffMs = performance.now() - startedAtMs > HEALTHY_MS ? FIRST_BACKOFF_MS : backoffMs;
      backoffMs = await this.restart(backoffMs);
    }
  }

  /** Retries until a child serves or `stop` is called. Returns the pause before the next restart. */
  private async restart(firstBackoffMs: number): Promise<number> {
    let backoffMs = firstBackoffMs;
    while (!this.stopping) {
      await this.pause(backoffMs);
      backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
      if (this.stopping) {
        break;
      }
      const outcome = await startEngineProcess(this.options.open, (line) =>
        this.options.log.warn({ line }, 'the embedded engine wrote to standard error'),
      );
      if (!outcome.ok) {
        const { reason, message } = outcome;
        this.options.log.error({ reason, message }, 'the embedded engine could not be started again');
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
      this.options.log.error(
        { error: readErrorMessage(error) },
        'the address of the embedded engine was not published',
      );
    }
    this.options.log.info({ pid: child.pid }, 'the embedded engine runs again');
  }

  private async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      const cut = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.wake.signal.addEventListener('abort', cut, { once: true });
    });
  }
}
