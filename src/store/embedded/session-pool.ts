import { EngineError } from './engine-error.ts';

/** Session in use, with its settings. */
export interface PooledSession {
  readonly session: ChdbSession;
  /** The database that the session is in. */
  database: string;
  /** Settings of the session that earlier requests set. A request without them resets them. */
  settings: ReadonlyMap<string, string>;
}

interface Waiter {
  readonly resolve: (session: PooledSession) => void;
  readonly reject: (error: Error) => void;
}

/** A bounded set of sessions of one kind, with a bounded queue in front. */
export class SessionPool {
  private readonly idle: PooledSession[] = [];
  private readonly waiting: Waiter[] = [];
  private readonly open: () => ChdbSession;
  private readonly maxWaiting: number;
  private readonly size: number;
  private readonly onIdle: (() => void)[] = [];

  constructor(open: () => ChdbSession, limits: { size: number; maxWaiting: number }) {
    this.open = open;
    this.size = limits.size;
    this.maxWaiting = limits.maxWaiting;
    for (let n = 0; n < limits.size; n++) {
      this.idle.push(this.fresh());
    }
  }

  /**
   * Takes a session for one statement; return it with `release`. Waits for a free one. Throws TOO_MANY_SIMULTANEOUS_QUERIES
   * when too many wait, and an `AbortError` like QUERY_WAS_CANCELLED when `signal` aborts first.
   */
  async acquire(signal: AbortSignal): Promise<PooledSession> {
    signal.throwIfAborted();
    const free = this.idle.pop();
    if (free !== undefined) {
      return free;
    }
    if (this.waiting.length >= this.maxWaiting) {
      throw new EngineError(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        `Too many simultaneous queries: ${this.size} run and ${this.maxWaiting} wait; try again later`,
      );
    }
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      signal.addEventListener('abort', () => this.giveUp(waiter, signal), { once: true });
      this.waiting.push(waiter);
    });
  }

  /** Returns a session; a broken one is closed and replaced. */
  release(pooled: PooledSession, spoilt: boolean): void {
    const next = spoilt ? this.replace(pooled) : pooled;
    const waiter = this.waiting.shift();
    if (waiter !== undefined) {
      waiter.resolve(next);
      return;
    }
    this.idle.push(next);
    if (this.idle.length === this.size) {
      for (const done of this.onIdle.splice(0)) {
        done();
      }
    }
  }

  /** Closes a session in use and returns a new one in its place. */
  replace(pooled: PooledSession): PooledSession {
    pooled.session.close();
    return this.fresh();
  }

  /** Resolves when no session is in use. */
  async drained(): Promise<void> {
    if (this.idle.length < this.size) {
      await new Promise<void>((resolve) => this.onIdle.push(resolve));
    }
  }

  /** Closes the idle sessions; only after `drained`. */
  close(): void {
    for (const pooled of this.idle.splice(0)) {
      pooled.session.close();
    }
  }

  private fresh(): PooledSession {
    return { session: this.open(), database: 'default', settings: new Map() };
  }

  private giveUp(waiter: Waiter, signal: AbortSignal): void {
    const at = this.waiting.indexOf(waiter);
    if (at !== -1) {
      this.waiting.splice(at, 1);
      waiter.reject(
        signal.reason instanceof Error ? signal.reason : new Error('the client closed the connection'),
      );
    }
  }
}

/** The part of chdb's result that the front uses. */
export interface ChdbResult {
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
  bytes(): Uint8Array;
}

/**
 * The part of chdb's `Session` that the front uses: one connection, one statement at a time. `queryStream` is no part of it: it
 * analyses a statement, and computes its scalar subqueries, on the event loop.
 */
export interface ChdbSession {
  queryAsync(sql: string, options: { format: string }): Promise<ChdbResult>;
  close(): void;
}

/** chdb itself: an optional dependency, loaded in the engine's process only. */
export interface ChdbModule {
  Session: new (path: string, options: { connectionArgs: readonly string[] }) => ChdbSession;
}
