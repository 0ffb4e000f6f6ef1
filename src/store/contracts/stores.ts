import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { TraceData } from '../../domain/span.ts';

/** Identity of a trace: trace ids are unique within a tenant only ('' without tenants). */
export interface TraceKey {
  readonly tenant: string;
  readonly traceId: string;
}

/** A trace key as one string, for maps. */
export function joinTraceKey(key: TraceKey): string {
  return `${key.tenant} ${key.traceId}`;
}

/** Arrivals of one trace within a time range. Spans of our own scope are left out. */
export interface Arrival extends TraceKey {
  /** Unix milliseconds, by the store's clock. */
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly spanIds: readonly string[];
  /** Distinct non-empty parent ids of those spans. */
  readonly parentIds: readonly string[];
  /** A span without a parent is among them. */
  readonly rootSeen: boolean;
  /** A span or log of an agent or a model call (by scope and attribute keys; a superset) is among them. */
  readonly agentSeen: boolean;
}

/** Per trace, over all its time. Spans of our own scope never count. */
export interface TraceActivity extends TraceKey {
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly firstStartUnixNano: bigint;
  readonly lastEndUnixNano: bigint;
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
  /** True when it arrived before the store knew a convention of it: live scoring leaves it out, a backfill scores it. */
  readonly knownLate?: boolean;
  readonly errorSeen: boolean;
}

/** Facts for `where` and `sample.always`, from a narrow query that reads no content. */
export interface TraceFacts extends TraceKey {
  readonly services: readonly string[];
  readonly environments: readonly string[];
  readonly agents: readonly string[];
  readonly hasError: boolean;
  readonly hasToolError: boolean;
  /** `feedback` scores or attributes below zero were seen. */
  readonly hasNegativeFeedback: boolean;
  /** Values of the attribute keys that were asked for (span or resource attributes). */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

/** A seam: our own table, or a foreign one. */
export interface SpanSource {
  /** The store's clock, Unix milliseconds. */
  nowMs(): Promise<number>;
  /** Arrivals in [fromMs, toMs), grouped by trace. Read overlapping ranges and deduplicate: commits come out of order. */
  arrivals(fromMs: number, toMs: number): Promise<Arrival[]>;
  /** Keyed by `joinTraceKey`; traces without activity are absent. */
  activity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>>;
  facts(keys: readonly TraceKey[], attributeKeys: readonly string[]): Promise<Map<string, TraceFacts>>;
  /**
   * At most 500 keys. Spans deduplicated by id (later end, then more attributes, then greater bytes), logs by content.
   * `atMostSpans` lets a source leave out traces with more spans, so that nobody reads what nobody wants.
   */
  read(
    keys: readonly TraceKey[],
    options?: { readonly atMostSpans?: number },
  ): Promise<Map<string, TraceData>>;
  /** Traces whose earliest span starts in [fromMs, toMs), in (start, key) order, after `after`; at most `limit`. */
  list(range: {
    tenant?: string;
    fromMs: number;
    toMs: number;
    after?: { startUnixNano: bigint; traceId: string; tenant?: string };
    limit: number;
  }): Promise<TraceActivity[]>;
  /** Activity of traces found by id alone (any tenant), for commands that only know the id. */
  findTrace(traceId: string): Promise<TraceActivity[]>;
}

/** A rule and the time from which it covers traces. */
export interface RuleSince {
  readonly rule: string;
  readonly activeFromMs: number;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface UndecidedQuery {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly rules: readonly RuleSince[];
  /** Only traces of these shards (`computeShard`); null or absent: of all. */
  readonly shards?: readonly number[] | null;
  readonly limit: number;
}

export interface DecisionStore {
  /** Current rows of these traces, keyed by `joinTraceKey`. */
  ofTraces(keys: readonly TraceKey[]): Promise<Map<string, Decision[]>>;
  /** Inserts in one block, deduplicated by content on a retry. */
  write(decisions: readonly Decision[]): Promise<void>;
  /**
   * The sweep: traces with agent activity whose first arrival is at or after `sinceMs` and that, for some rule in `rules`
   * active before their first arrival, have no decision at all, or activity newer than the newest decision's
   * `evidenceUntil`, or a due `nextAttemptAt` (≤ nowMs).
   */
  undecided(query: UndecidedQuery): Promise<TraceActivity[]>;
}

export interface ScoreFilter {
  tenant?: string;
  traceId?: string;
  /** Any of these names. */
  scorers?: readonly string[];
  service?: string;
  sinceMs?: number;
  maxScore?: number;
  source?: string;
  limit: number;
}

export interface ScoreStore {
  byIds(ids: readonly string[]): Promise<Map<string, Score>>;
  /** Current scores of these traces. */
  ofTraces(keys: readonly TraceKey[]): Promise<Map<string, Score[]>>;
  /** Inserts new rows and tombstones (`isDeleted`) in one block. */
  write(scores: readonly Score[]): Promise<void>;
  /** Newest first. */
  list(filter: ScoreFilter): Promise<Score[]>;
  /** Scores written at or after `fromMs` that this exporter has not yet confirmed, oldest first; at most `limit`. */
  unexported(exporter: string, fromMs: number, limit: number): Promise<Score[]>;
  /** Records that the exporter delivered these (score id, revision) pairs. */
  markExported(exporter: string, scores: readonly Score[]): Promise<void>;
}

/** Part of the score store that exporters read and write. */
export type ScoreFeed = Pick<ScoreStore, 'unexported' | 'markExported'>;

/** A rule as it was in force from a moment on. */
export interface RuleVersion {
  readonly rule: string;
  /** Hash of the definition. */
  readonly version: string;
  readonly activeFromMs: number;
  readonly probability: number;
  readonly definition: unknown;
}

export interface RuleVersionStore {
  list(): Promise<RuleVersion[]>;
  /** Keeps the first `activeFromMs` of a version that is known already. */
  record(version: RuleVersion): Promise<void>;
}

/** One judge call, for audit and cost. */
export interface JudgeCallRecord extends TraceKey {
  readonly scoreId: string;
  readonly scorer: string;
  readonly step: string;
  readonly model: string;
  readonly status: 'success' | 'failed';
  readonly prompt: string;
  readonly reply: string;
  readonly error: string;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly durationMs: number;
  readonly calledAtMs: number;
}

export interface JudgeCallStore {
  write(calls: readonly JudgeCallRecord[]): Promise<void>;
  /**
   * Money of a rule's budget that was booked since a moment.
   * @param openSinceMs a reservation before it that was never settled is of a process that died: it counts as spent
   */
  readSpending(rule: string, sinceMs: number, openSinceMs: number): Promise<Spending>;
  /** Appends reservations and settlements. */
  spend(entries: readonly SpendEntry[]): Promise<void>;
}

/** A reservation of money for a judge call, or its settlement: the difference to the real cost. */
export interface SpendEntry {
  readonly rule: string;
  readonly costUsd: number;
  readonly atMs: number;
  readonly scoreId: string;
  /** One for a reservation and its settlement. */
  readonly callId: string;
}

/** Money in USD. */
export interface Spending {
  /** Everything that was booked, reservations included. */
  readonly bookedUsd: number;
  /** The part of it that is reserved by calls under way. */
  readonly reservedUsd: number;
}

/** Store of the scorer processes that are alive. */
export interface MemberStore {
  /**
   * Records that a member lives (or leaves), and gives the members whose last beat is at most `ttlMs` old by the store's
   * clock and who have not left.
   */
  beat(member: string, options: { ttlMs: number; leaving?: boolean }): Promise<string[]>;
}
