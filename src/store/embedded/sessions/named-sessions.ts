import type { ChdbSession } from './chdb-session.ts';
import { EngineError } from '../engine-error.ts';
import type { SessionRequest } from '../engine-request.ts';

/** Session that a client named (`session_id`), with its settings and temporary tables. */
interface NamedSession {
  readonly session: ChdbSession;
  /** Current database of the session; undefined after a statement that may have changed it. */
  database: string | undefined;
  isBusy: boolean;
  expiry: NodeJS.Timeout | undefined;
}

/** Named session in use by one request. */
export interface NamedLease {
  readonly session: ChdbSession;
  database: string | undefined;
  /** Returns the session; a broken one is closed and its content is lost. */
  release(spoilt: boolean): void;
}

/** Limit of remembered ids, so that `session_check` finds empty sessions. */
const MAX_IDS = 10_000;

/**
 * Sessions by the ids of clients. Most clients name a session and never use it. So an id gets a session of the engine with
 * the first statement that changes one; until then its requests run in the pools.
 */
export class NamedSessions {
  private readonly sessions = new Map<string, NamedSession>();
  /** Expiry of each id, in the order of last use. */
  private readonly known = new Map<string, number>();
  private readonly open: () => ChdbSession;
  private readonly maxSessions: number;

  constructor(open: () => ChdbSession, maxSessions: number) {
    this.open = open;
    this.maxSessions = maxSessions;
  }

  /** Remembers the id. Throws SESSION_NOT_FOUND when the request requires an existing session. */
  note({ id, mustExist, timeoutMs }: SessionRequest): void {
    const expiresAt = this.known.get(id) ?? 0;
    if (mustExist && expiresAt < Date.now() && !this.sessions.has(id)) {
      throw new EngineError('SESSION_NOT_FOUND', `Session '${id}' was never made, or has expired`);
    }
    this.known.delete(id);
    this.known.set(id, Date.now() + timeoutMs);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MAX_IDS) {
        break;
      }
      this.known.delete(oldest);
    }
  }

  /** Returns true when the id has a session of the engine. */
  holds(id: string): boolean {
    return this.sessions.has(id);
  }

  /**
   * Takes the session of the id, or opens one. Throws SESSION_IS_LOCKED while another request uses it, as a server does,
   * and TOO_MANY_SIMULTANEOUS_QUERIES when too many ids have one.
   */
  take(request: SessionRequest): NamedLease {
    const named = this.sessions.get(request.id) ?? this.fresh(request.id);
    if (named.isBusy) {
      throw new EngineError('SESSION_IS_LOCKED', `Session '${request.id}' is in use by another request`);
    }
    named.isBusy = true;
    clearTimeout(named.expiry);
    const release = (spoilt: boolean): void => this.giveBack(request, named, spoilt);
    return {
      session: named.session,
      get database() {
        return named.database;
      },
      set database(database) {
        named.database = database;
      },
      release,
    };
  }

  /** Forgets an id, and closes its session unless a request uses it. */
  end(id: string): void {
    this.known.delete(id);
    const named = this.sessions.get(id);
    if (named !== undefined && !named.isBusy) {
      this.close(id, named);
    }
  }

  /** Closes all sessions. */
  closeAll(): void {
    for (const id of this.sessions.keys()) {
      this.end(id);
    }
  }

  private fresh(id: string): NamedSession {
    if (this.sessions.size >= this.maxSessions) {
      throw new EngineError(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        `${this.maxSessions} named sessions hold settings or temporary tables already: ` +
          'end one by close_session=1, or wait for their session_timeout',
      );
    }
    const named: NamedSession = {
      session: this.open(),
      database: 'default',
      isBusy: false,
      expiry: undefined,
    };
    this.sessions.set(id, named);
    return named;
  }

  private giveBack({ id, isLast, timeoutMs }: SessionRequest, named: NamedSession, spoilt: boolean): void {
    named.isBusy = false;
    if (spoilt || isLast) {
      this.close(id, named);
      return;
    }
    named.expiry = setTimeout(() => this.close(id, named), timeoutMs).unref();
  }

  private close(id: string, named: NamedSession): void {
    clearTimeout(named.expiry);
    this.sessions.delete(id);
    named.session.close();
  }
}
