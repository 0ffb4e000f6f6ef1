import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import type { BudgetScope } from '../../domain/money/budget.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { TraceData } from '../../domain/trace/span.ts';

/** Most traces that one statement asks for. */
export const MAX_KEYS = 2_000;

/** Identity of a trace: trace ids are unique only within a tenant ('' without tenants). */
export interface TraceKey {
  readonly tenant: string;
  readonly traceId: string;
}

/** Returns a trace key as one string, for maps. */
export function joinTraceKey(key: TraceKey): string {
  return `${key.tenant} ${key.traceId}`;
}

/** Arrivals of one trace within a time range, without spans of spanscore. */
export interface Arrival extends TraceKey {
  /** Unix milliseconds, by the store's clock. */
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly spanIds: readonly string[];
  /** Distinct non-empty parent ids of those spans. */
  readonly parentIds: readonly string[];
  /** True when a span without a parent has arrived. */
  readonly rootSeen: boolean;
  /**
   * True when a span or log of an agent or a model call has arrived (by scope and attribute keys; may be true too often,
   * never too rarely).
   */
  readonly agentSeen: boolean;
}

/** Activity of a trace over all its time, without spans of spanscore. */
export interface TraceActivity extends TraceKey {
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly firstStartUnixNano: bigint;
  readonly lastEndUnixNano: bigint;
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
  /** True when the trace arrived before the store knew its convention: live scoring skips it, a backfill scores it. */
  readonly knownLate?: boolean;
  readonly errorSeen: boolean;
}

/** Facts for `where` and `sample.always`, from a narrow query that reads no content. */
export interface TraceFacts extends TraceKey {
  readonly services: readonly string[];
  readonly environments: readonly string[];
  readonly agents: readonly string[];
  /** Sessions, users and models as plain attributes. The content of a run may hold them in other forms too. */
  readonly sessions: readonly string[];
  readonly users: readonly string[];
  readonly models: readonly string[];
  /** Names of all models as plain attributes: those that were requested, and those that answered. */
  readonly modelNames: readonly string[];
  readonly serviceVersions: readonly string[];
  /** Versions that the spans of agents, models and tools name. */
  readonly versions: readonly AgentVersion[];
  readonly hasError: boolean;
  readonly hasToolError: boolean;
  /** True when `feedback` scores or attributes below zero were found. */
  readonly hasNegativeFeedback: boolean;
  /** Values of the requested attribute keys (span or resource attributes). */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
}

/** Interface to a source of spans: the tables of spanscore, or foreign tables. */
export interface SpanSource {
  /** Clock of the store, Unix milliseconds. */
  nowMs(): Promise<number>;
  /**
   * Reads arrivals in [fromMs, toMs), grouped by trace. Read overlapping ranges and deduplicate, because commits come out
   * of order.
   */
  arrivals(fromMs: number, toMs: number): Promise<Arrival[]>;
  /** Keyed by `joinTraceKey`; traces without activity are absent. */
  activity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>>;
  /** With `feedback: false`, negative feedback outside of the attributes of spans is not looked up. */
  facts(
    keys: readonly TraceKey[],
    attributeKeys: readonly string[],
    options?: { readonly feedback?: boolean },
  ): Promise<Map<string, TraceFacts>>;
  /**
   * Reads at most `MAX_KEYS` keys. Deduplicates spans by id (later end, then more attributes, then greater bytes), logs by
   * content. With `atMostSpans` a source may omit traces with more spans, which the caller does not need.
   */
  read(
    keys: readonly TraceKey[],
    options?: { readonly atMostSpans?: number },
  ): Promise<Map<string, TraceData>>;
  /** Lists traces whose earliest span starts in [fromMs, toMs), in (start, key) order, after `after`; at most `limit`. */
  list(range: {
    tenant?: string;
    fromMs: number;
    toMs: number;
    after?: { startUnixNano: bigint; traceId: string; tenant?: string };
    limit: number;
  }): Promise<TraceActivity[]>;
  /** Estimates how many traces have a span that starts in [fromMs, toMs), with or without an agent. May be too small for a large table. */
  count(range: {
    readonly tenant?: string | undefined;
    readonly fromMs: number;
    readonly toMs: number;
  }): Promise<number>;
  /** Finds the activity of traces by id alone (any tenant), for commands that have only the id. */
  findTrace(traceId: string): Promise<TraceActivity[]>;
}

/** A scorer of a rule, and the first arrivals of the traces that it covers: [fromMs, untilMs), by the store's clock. */
export interface CoveredCell {
  /** True for a rule on sessions: a trace is decided as soon as its runs are stored. */
  readonly ofSessions?: boolean;
  readonly rule: string;
  readonly scorer: string;
  readonly fromMs: number;
  /** Infinity: without end. */
  readonly untilMs: number;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface UndecidedQuery {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly cells: readonly CoveredCell[];
  /** Only traces of these shards (`computeShard`); null or undefined: all traces. */
  readonly shards?: readonly number[] | null;
  readonly limit: number;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface DueQuery {
  /** Last time of an attempt. */
  readonly untilMs: number;
  /** Only traces of these shards (`computeShard`); null: all traces. */
  readonly shards: readonly number[] | null;
  readonly limit: number;
  /** True: decisions on sessions, and their shards. False or undefined: decisions on traces. */
  readonly ofSessions?: boolean;
}

/** Order in which traces are caught up that a budget held back. */
export type CatchUpOrder = 'newest-first' | 'oldest-first';

/** Times are Unix milliseconds, by the store's clock. */
export interface HeldBackQuery {
  /** Last time of an attempt. Absent: any. */
  readonly untilMs?: number;
  /** Only decisions on evidence from before this time. Absent: any. */
  readonly evidenceBeforeMs?: number;
  /** By the last arrival of the evidence. */
  readonly order: CatchUpOrder;
  /** Only traces of these shards (`computeShard`); null: all traces. */
  readonly shards: readonly number[] | null;
  readonly limit: number;
  /** True: decisions on sessions, and their shards. False or undefined: decisions on traces. */
  readonly ofSessions?: boolean;
}

export interface DecisionStore {
  /** Current rows of these traces, keyed by `joinTraceKey`. */
  ofTraces(keys: readonly TraceKey[]): Promise<Map<string, Decision[]>>;
  /** Inserts in one block, deduplicated by content on a retry. */
  write(decisions: readonly Decision[]): Promise<void>;
  /**
   * Finds traces for the sweep, the oldest first: traces with agent activity and an arrival at or after `sinceMs` that have, for a cell
   * that covers them, no row (of the scorer or of its whole rule), or a row from before their last arrival.
   */
  undecided(query: UndecidedQuery): Promise<TraceActivity[]>;
  /**
   * Finds deferred rows of live rules by the time of their next attempt alone, earliest first, without those that a budget holds
   * back. A backfill retries its own rows.
   */
  due(query: DueQuery): Promise<Decision[]>;
  /** Finds deferred rows of live rules that a budget holds back. */
  heldBack(query: HeldBackQuery): Promise<Decision[]>;
}

export interface ScoreStore {
  byIds(ids: readonly string[]): Promise<Map<string, Score>>;
  /** Current scores of these traces. */
  ofTraces(keys: readonly TraceKey[]): Promise<Map<string, Score[]>>;
  /** Inserts new rows and tombstones (`isDeleted`) in one block. */
  write(scores: readonly Score[]): Promise<void>;
}

/** Rule in force from a time on. */
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
  /** Records a version. A known version keeps its first `activeFromMs`. */
  record(version: RuleVersion): Promise<void>;
}

export type { JudgeCallRecord };

export interface JudgeCallStore {
  write(calls: readonly JudgeCallRecord[]): Promise<void>;
  /** Reads the money of a budget in a range of time. */
  readSpending(scope: BudgetScope, range: SpendingRange): Promise<Spending>;
  /** Reads the money of all budgets in a range of time. */
  listSpending(range: SpendingRange): Promise<SpendingPart[]>;
  /** Appends entries. An entry that was written before is ignored, also in another order or with others. */
  spend(entries: readonly SpendEntry[]): Promise<void>;
}

/** Range of time, Unix milliseconds. */
export interface SpendingRange {
  readonly fromMs: number;
  /** First time after the range. */
  readonly toMs: number;
  /** A process whose last entry is older has ended: the money that it leased counts as spent. */
  readonly openSinceMs: number;
}

/**
 * Entry of budgets, USD. A call belongs to the budgets of its rule, of its tenant and of the installation. A lease belongs to one of
 * them. The sum of all entries of a budget is spent or leased.
 */
export interface SpendEntry {
  /** `call`: real cost of a judge call. `lease`: money that a process leases for calls, or (below 0) has used or gives back. */
  readonly kind: 'call' | 'lease';
  /** Budget of a lease; '' for the budget of its rule, and for a call. */
  readonly scope: '' | 'tenant' | 'total';
  /** '' for a lease of another budget than a rule's. */
  readonly rule: string;
  readonly costUsd: number;
  readonly atMs: number;
  /** '' for a lease of another budget than a tenant's. */
  readonly tenant: string;
  /** '' for a lease. */
  readonly scoreId: string;
  /** Same id for all entries of one process. */
  readonly leaseId: string;
  readonly entryId: string;
}

/** Money in USD. */
export interface Spending {
  /** All booked money: spent or leased. */
  readonly bookedUsd: number;
  /** Part of the booked money that running processes have leased and not spent. */
  readonly reservedUsd: number;
}

/** Calls of one rule for one tenant, or the leases of one budget. */
export interface SpendingPart extends Pick<SpendEntry, 'rule' | 'tenant' | 'scope'>, Spending {
  readonly isLease: boolean;
}

/** A scorer process among those of one store. */
export interface Member {
  readonly name: string;
  /** Scorers of its rules (`joinCell`); `ANY_CELL` for all. */
  readonly cells: readonly string[];
  /** Its last beat, Unix milliseconds by the store's clock. */
  readonly beatAtMs: number;
  /** True for a member that gave its work to the others. */
  readonly isLeaving: boolean;
}

/** Store of the running scorer processes. */
export interface MemberStore {
  /**
   * Records that a member runs (or leaves). Returns the members of the last day and the store's clock, Unix milliseconds. A
   * stamp may lie ahead of that clock, when the clock went back.
   */
  beat(
    member: string,
    options: { readonly cells: readonly string[]; readonly leaving?: boolean },
  ): Promise<{ readonly nowMs: number; readonly members: readonly Member[] }>;
  /**
   * Marks all members as leaving, so that nobody waits for their beats to grow old. For a process that has started the engine of the
   * store: all members of before used an engine that has ended. A member that still runs comes back with its next beat.
   */
  dismissAll(): Promise<void>;
}
