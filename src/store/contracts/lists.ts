import type { DecisionStatus, StatusCounts } from '../../domain/decision.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { Score, ScoreSource } from '../../domain/score.ts';
import type { SessionKey } from './sessions.ts';
import type { TraceKey } from './stores.ts';

/** Key of an item of a list: its time in Unix milliseconds, and what tells items of the same time apart. */
export interface ListKey {
  readonly atMs: number;
  readonly id: string;
}

/** Conditions on the items of a list; of several values of one condition any. Times are Unix milliseconds. */
export interface ListFilters {
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  /** Oldest start. */
  readonly sinceMs?: number | undefined;
  /** First start that is too late. */
  readonly untilMs?: number | undefined;
  /** Names of score rows. */
  readonly scorer?: readonly string[] | undefined;
  readonly service?: readonly string[] | undefined;
  readonly agent?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
  readonly model?: readonly string[] | undefined;
  readonly serviceVersion?: readonly string[] | undefined;
  readonly sessionId?: readonly string[] | undefined;
  readonly userId?: readonly string[] | undefined;
  readonly rule?: readonly string[] | undefined;
  readonly status?: readonly DecisionStatus[] | undefined;
  /** Codes of reasons. */
  readonly reason?: readonly string[] | undefined;
  readonly source?: readonly ScoreSource[] | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly traceId?: readonly string[] | undefined;
}

/** Part of a list, newest first. */
export interface ListPage {
  readonly limit: number;
  /** Last item of the page before; absent for the first page. */
  readonly after?: ListKey | undefined;
}

/** Orders of scores: by the start of their run, or by the time of their scoring, the last or the first scored at the front. */
export type ScoreOrder = 'started' | 'scored' | 'scored_first';

/** Items of a page, and the key of the last one; null after the last page. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly next: ListKey | null;
}

/** Score of a list of traces. */
export type ScoreBrief = Pick<Score, 'scoreId' | 'scorer' | 'score' | 'label' | 'higherIsBetter' | 'source'>;

/** One trace of a list. */
export interface ListedTrace extends TraceKey {
  /** Start of the run, or of the first span of a trace without one, Unix milliseconds. */
  readonly startedAtMs: number;
  /** First run; null before the trace is read. */
  readonly run: RunRecord | null;
  /** Number of current decisions by status. */
  readonly decisions: StatusCounts;
  readonly scores: readonly ScoreBrief[];
}

/** One session of a list. Times are Unix milliseconds. */
export interface ListedSession extends SessionKey {
  /** Start of the first turn. */
  readonly startedAtMs: number;
  /** Start of the last turn. */
  readonly lastTurnMs: number;
  readonly turnCount: number;
  /** User of the last turn; '' when it is not known. */
  readonly userId: string;
  readonly agents: readonly string[];
  readonly services: readonly string[];
  readonly totalTokens: number | null;
  readonly costUsd: number | null;
  /** Current scores of the whole session. */
  readonly scores: readonly Score[];
}

/** Lists for people, by keys that a new row does not move. */
export interface ListStore {
  /** By the start of the run and the id of the score. Another order takes `sinceMs` and `untilMs` as times of the scoring. */
  scores(
    filters: ListFilters,
    page: ListPage & { readonly order?: ScoreOrder | undefined },
  ): Promise<Listed<Score>>;
  /** Traces of agents, by the start of their run and their id. */
  traces(filters: ListFilters, page: ListPage): Promise<Listed<ListedTrace>>;
  /** Reads the traces of these ids that have a run. */
  tracesOf(keys: readonly TraceKey[]): Promise<readonly ListedTrace[]>;
  /** Lists the tenants that have a run of a trace, or a score that was not posted, by name. */
  tenantsOf(traceId: string): Promise<readonly string[]>;
  /** Sessions, by the start of their first turn. */
  sessions(filters: ListFilters, page: ListPage): Promise<Listed<ListedSession>>;
  /** Reads the sessions of an id that have a turn: of one tenant, or one for each tenant, by name. */
  sessionsOf(sessionId: string, tenant: string | undefined): Promise<readonly ListedSession[]>;
  /** The worst scores first, in the direction of each scorer. */
  worstScores(filters: ListFilters, limit: number): Promise<readonly Score[]>;
}
