import type { DecisionStatus } from '../../../domain/decision.ts';
import type { CoveredCell } from '../stores.ts';

/** Times are Unix milliseconds, by the store's clock. */
export interface CoverageQuery {
  /** Only targets whose last span arrived at or after this time. */
  readonly sinceMs: number;
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  /** Scorers of each rule over time: a verdict on a whole rule counts for each of them. */
  readonly cells: readonly CoveredCell[];
  /** True: one row for each service, which takes longer. */
  readonly byService?: boolean | undefined;
}

/** Number of current decisions of one kind. A decision on a whole rule counts once for each scorer of the rule. */
export interface CoverageRow {
  readonly rule: string;
  readonly scorer: string;
  /** Service of the run; '' when it is not known, or was not asked for. */
  readonly service: string;
  readonly status: DecisionStatus;
  /** Code of the reason; '' for a plain score. */
  readonly reason: string;
  readonly decisions: number;
  /** Sum of the weights. */
  readonly weight: number;
  /** Number of decisions without a weight. */
  readonly unweighted: number;
}

/** Numbers of decisions in a range. */
export interface CoverageReading {
  /** Start of the range: the hour of the asked time, where past hours are summed. */
  readonly sinceMs: number;
  readonly rows: CoverageRow[];
}

/** Traces or sessions that a scorer of a rule has yet to decide for the first time. */
export interface WaitingCount {
  readonly rule: string;
  readonly scorer: string;
  readonly waiting: number;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface WaitingQuery {
  /** Only traces whose first span arrived at or after this time, and sessions whose last turn was read since. */
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly tenant?: string | undefined;
  /** Scorers of the rules in force. */
  readonly cells: readonly CoveredCell[];
}

/** Counts what was decided, and what was not. */
export interface CoverageStore {
  /**
   * Counts the current decisions by rule, scorer, status and reason, and by service if asked. Past hours are read from their sums: a
   * range over them begins with a whole hour, and a target whose evidence moved to a later hour counts in both for up to an hour (a
   * day, when its former hour was more than a day ago).
   */
  decided(query: CoverageQuery): Promise<CoverageReading>;
  /** Counts traces and sessions without any decision of a scorer that covers them. Scorers without such are absent. */
  waiting(query: WaitingQuery): Promise<WaitingCount[]>;
}
