import type { DecisionStatus, StatusCounts } from '../../domain/decision.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { Score, ScoreSource } from '../../domain/score.ts';
import type { CoveredPair, TraceKey } from './stores.ts';

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
  readonly turns: number;
  /** True when every rule has decided on the last arrival, but a turn may have been stored after the decision had read the turns. */
  readonly isLate: boolean;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface UndecidedSessionsQuery {
  /** Only sessions with a turn that was read at or after this time. */
  readonly sinceMs: number;
  readonly pairs: readonly CoveredPair[];
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

export interface SessionTurn extends TraceKey {
  readonly startedAtMs: number;
}

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
  readonly agentVersion?: readonly string[] | undefined;
  /** Names of called tools. */
  readonly tool?: readonly string[] | undefined;
  /** True: only runs with a tool call that failed. */
  readonly toolError?: true | undefined;
  /** Part of the question or the answer, in any case; or a whole id of a trace, a user or a session. */
  readonly q?: string | undefined;
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
export interface ScoreBrief extends Pick<
  Score,
  'scoreId' | 'scorer' | 'score' | 'label' | 'higherIsBetter' | 'source'
> {
  /** 0 (worst) to 1 (best); null without a range or a direction. */
  readonly directed: number | null;
}

export interface ListedTrace extends TraceKey {
  /** Start of the run, or of the first span of a trace without one, Unix milliseconds. */
  readonly startedAtMs: number;
  /** First run; null before the trace is read. */
  readonly run: RunRecord | null;
  /** Number of current decisions by status. */
  readonly decisions: StatusCounts;
  readonly scores: readonly ScoreBrief[];
  /** Bad verdict of the worst score that has one; null without any. */
  readonly finding: TraceFinding | null;
  /** Reasons of rules and scorers that gave no score, one for each scorer. */
  readonly notScored: readonly { readonly scorer: string; readonly reason: string }[];
}

/** Verdict of a judge on one statement of an answer. */
export interface TraceFinding {
  readonly scorer: string;
  readonly verdict: string;
  readonly claim: string;
  /** Words of the evidence; null where the judge gave none. */
  readonly quote: string | null;
}

/** Number of traces with a value of a facet. */
export interface FacetCount {
  readonly value: string;
  readonly count: number;
}

/** Facets of traces that are counted. */
export const TRACE_FACETS = [
  'agent',
  'agentVersion',
  'environment',
  'service',
  'model',
  'tool',
  'scorer',
  'notScored',
  'tenant',
] as const;

/** Counts of traces by facet, the greatest first. */
export type TraceFacets = Readonly<Record<(typeof TRACE_FACETS)[number], readonly FacetCount[]>>;

/** Traces that started within an hour or a day. */
export interface TraceBucket {
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly runs: number;
  /** Runs with a tool call that failed. */
  readonly errors: number;
}

/** Counts of traces: by facet, in all, and over time. */
export interface CountedTraces {
  readonly facets: TraceFacets;
  readonly runs: number;
  readonly buckets: readonly TraceBucket[];
}

/** One session of a list. Times are Unix milliseconds. */
export interface ListedSession extends SessionKey {
  /** Start of the first turn. */
  readonly startedAtMs: number;
  readonly lastTurnMs: number;
  readonly turnCount: number;
  /** User of the last turn; '' when it is not known. */
  readonly userId: string;
  readonly agents: readonly string[];
  readonly services: readonly string[];
  readonly totalTokens: number | null;
  /** Null when the cost of a turn is not known. */
  readonly costUsd: number | null;
  /** Current scores of the whole session. */
  readonly scores: readonly Score[];
  /** Worst score of the session or of one of its turns, in the direction of each scorer; null without any. */
  readonly worst: Pick<Score, 'scorer' | 'score'> | null;
}

/** One SELECT of a person. */
export interface SqlRequest {
  readonly query: string;
  /** An output format of the engine. */
  readonly format: string;
  readonly maxSeconds: number;
  readonly signal: AbortSignal;
}

export interface TraceListFilter {
  readonly tenant?: string | undefined;
  /** Service of a run; of a trace without a run any service, if it arrived within the last day. */
  readonly service?: string | undefined;
  /** Only traces with arrivals at or after this time, Unix milliseconds. */
  readonly sinceMs?: number | undefined;
  /** At most `MAX_KEYS`. */
  readonly limit: number;
}

/** One trace with its decisions. Times are Unix milliseconds. */
export interface TraceSummary extends ListedTrace {
  readonly services: readonly string[];
  /** Number of distinct spans, without spans of spanscore. */
  readonly spanCount: number;
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
  readonly errorSeen: boolean;
}

/** Limits of each read. A read beyond them throws a `QueryStoppedError`. */
export interface ReadLimits {
  readonly maxSeconds: number;
  readonly maxBytes: number;
}

export interface StoreSize {
  /** Bytes on disk, of all tables. */
  readonly bytes: number;
  /** Rows of the main tables; versions of a row that are not merged yet count separately. */
  readonly rows: { readonly spans: number; readonly scores: number; readonly decisions: number };
}

/** Numbers of rows that a store takes. */
export interface StorePace {
  /** Version of the engine. */
  readonly version: string;
  /** Means of the last minute. */
  readonly spansPerSecond: number;
  readonly scoresPerSecond: number;
}

/** A word for the status or the kind of spans in a foreign table that is not known. */
export interface UnknownWord {
  readonly column: string;
  readonly word: string;
  readonly rows: number;
}

/** Rows of a table whose stamps lie more than a minute ahead of the store's clock: the clock went back after they were written. */
export interface AheadRows {
  readonly table: string;
  readonly rows: number;
  /** Distance of the last stamp to the clock, milliseconds. */
  readonly aheadMs: number;
}
