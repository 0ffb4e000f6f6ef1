import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { CoveredCell, TraceKey } from './stores.ts';

/** Identity of a session: session ids are unique only within a tenant. */
export interface SessionKey {
  readonly tenant: string;
  readonly sessionId: string;
}

/** Returns a session key as one string, for maps. */
export function joinSessionKey({ tenant, sessionId }: SessionKey): string {
  return JSON.stringify([tenant, sessionId]);
}

/** Arrivals of the turns of a session, Unix milliseconds by the store's clock. */
export interface SessionActivity extends SessionKey {
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
}

/** A session that a rule has to decide. */
export interface UndecidedSession extends SessionActivity {
  /** Time at which the last row of a turn was stored: later than its arrival while its trace waited to be read. */
  readonly lastWrittenMs: number;
  /** Number of traces that are turns. */
  readonly turns: number;
  /** True when every rule has decided on the last arrival, but a turn may have been stored after the decision had read the turns. */
  readonly isLate: boolean;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface UndecidedSessionsQuery {
  /** Only sessions with a turn that was read at or after this time. */
  readonly sinceMs: number;
  readonly cells: readonly CoveredCell[];
  /** Only sessions of these shards; null: all. */
  readonly shards: readonly number[] | null;
  readonly limit: number;
}

/** A session, with the start of its last turn, Unix milliseconds. */
export interface EndedSession extends SessionActivity {
  readonly lastTurnMs: number;
}

/** Place in the list of sessions that ended. */
export type SessionPlace = Pick<EndedSession, 'tenant' | 'sessionId' | 'lastTurnMs'>;

/** Times are Unix milliseconds. */
export interface EndedSessionsQuery {
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  /** Only sessions whose last turn starts in [fromMs, toMs). */
  readonly fromMs: number;
  readonly toMs: number;
  /** Last session of the page before. */
  readonly after?: SessionPlace | undefined;
  readonly limit: number;
}

/** A turn of a session. */
export interface SessionTurn extends TraceKey {
  readonly startedAtMs: number;
}

/** Results of rules on one session. */
export interface SessionResultsQuery {
  readonly tenant: string;
  readonly targetId: string;
  readonly rules: readonly string[];
  /** Unix milliseconds, by the store's clock. */
  readonly sinceMs: number;
}

/** The newest turns of a session, newest first. */
export interface ListedTurns {
  readonly turns: readonly SessionTurn[];
  /** Number of all turns. */
  readonly count: number;
}

export interface SessionStore {
  /** Finds sessions that have, for a cell that covers their last arrival, no row as new as it. The one idle for longest comes first. */
  undecided(query: UndecidedSessionsQuery): Promise<UndecidedSession[]>;
  /** Reads the arrivals of a session; undefined for one without a turn. */
  activity(key: SessionKey): Promise<SessionActivity | undefined>;
  /** Finds those of these sessions with a turn that was read at or after a time, Unix milliseconds. */
  changed(keys: readonly SessionKey[], sinceMs: number): Promise<SessionKey[]>;
  /** Lists sessions by their last turn, in the order of its start. */
  list(query: EndedSessionsQuery): Promise<EndedSession[]>;
  /** Finds the sessions of this id, of any tenant. */
  find(sessionId: string): Promise<SessionActivity[]>;
  /** Lists the newest turns, at most `limit`, and counts all. */
  turns(key: SessionKey, limit: number): Promise<ListedTurns>;
  /** Does so for several sessions, in their order. */
  turnsOf(keys: readonly SessionKey[], limit: number): Promise<ListedTurns[]>;
  /** Current decisions of the sessions with these target ids. */
  decisions(tenant: string, targetIds: readonly string[]): Promise<Decision[]>;
  /** Lists the times since when a session was scored or failed, in order, one for each state of its turns. */
  resultTimes(query: SessionResultsQuery): Promise<number[]>;
  /** Current scores of a session. */
  scores(key: SessionKey): Promise<Score[]>;
  /** Finds the session ids of targets whose id is a hash. */
  findIds(targets: readonly { readonly tenant: string; readonly targetId: string }[]): Promise<SessionKey[]>;
}
