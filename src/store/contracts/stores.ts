import type { Decision } from '../../domain/decision.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { sha256 } from '../../domain/identity.ts';
import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import { column, named, wordOf, type RowOf, type Table } from '../../domain/table.ts';
import type { TargetKind } from '../../domain/trace/agent-run.ts';
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
export interface CoveredPair {
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
  readonly pairs: readonly CoveredPair[];
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

/** Rule in force from a time on. */
export interface RuleVersion {
  readonly rule: string;
  /** Hash of the definition. */
  readonly version: string;
  readonly activeFromMs: number;
  readonly probability: number;
  readonly definition: unknown;
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
 * Definition of `spend`: entries of budgets, USD. A call belongs to the budgets of its rule, of its tenant and of the installation. A lease
 * belongs to one of them. The sum of all entries of a budget is spent or leased.
 */
export const SPEND = {
  name: 'spend',
  columns: {
    /** `call`: real cost of a judge call. `lease`: money that a process leases for calls, or (below 0) has used or gives back. */
    kind: wordOf(['call', 'lease']),
    /** Budget of a lease; '' for the budget of its rule, and for a call. */
    scope: wordOf(['', 'tenant', 'total']),
    /** '' for a lease of another budget than a rule's. */
    rule: column('LowCardinality(String)'),
    costUsd: column('Float64'),
    atMs: named('SpentAt', column("DateTime64(3, 'UTC')")),
    /** '' for a lease of another budget than a tenant's. */
    tenant: column('LowCardinality(String)'),
    /** '' for a lease. */
    scoreId: column('String'),
    /** Same id for all entries of one process. */
    leaseId: column('String'),
    entryId: named('CallId', column('String')),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')" },
} satisfies Table;

export type SpendEntry = RowOf<typeof SPEND>;

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
  /** Scorers of its rules (`joinPair`); `ANY_PAIR` for all. */
  readonly pairs: readonly string[];
  /** Its last beat, Unix milliseconds by the store's clock. */
  readonly beatAtMs: number;
  /** True for a member that gave its work to the others. */
  readonly isLeaving: boolean;
}

/** Number of shards of all traces, divided among the members of a store. */
export const SHARDS = 1_024;

/** Returns a 32-bit number from the SHA-256 of a text. */
export function hashNumber(text: string): number {
  return sha256(text).readUInt32BE(0);
}

/** Returns the shard of a trace, from 0; queries of the store compute the same number. */
export function computeShard(key: TraceKey): number {
  return hashNumber(joinTraceKey(key)) % SHARDS;
}

/** Version whose first targets a rule scores. */
export interface VersionKey extends AgentVersion {
  readonly tenant: string;
  readonly rule: string;
}

/** Returns a version key as one string, for maps. */
export function joinVersionKey(key: VersionKey): string {
  const { tenant, rule, service, agent, serviceVersion, agentVersion } = key;
  return JSON.stringify([tenant, rule, service, agent, serviceVersion, agentVersion]);
}

/** First targets of a version. */
export interface VersionSample {
  /** Number of first targets; 0 for a version that was in use before its rule asked for new versions. */
  readonly slots: number;
  /** Hashes of the ids of the targets that were chosen so far, in order. */
  readonly targets: readonly string[];
}

/** Runs of one kind of an agent; an agent without a name goes by its service. */
export interface AgentKey {
  readonly tenant: string;
  readonly target: TargetKind;
  readonly agent: string;
}

/** Agents whose past is read, those with the most runs first. */
export const MAX_AGENTS = 2_000;

/** Different paths of an agent that are read, the most frequent first. */
export const MAX_PATHS = 100;

/** Joins the parts of a key to one text. */
export function joinAgentKey({ tenant, target, agent }: AgentKey): string {
  return JSON.stringify([tenant, target, agent]);
}

/** Current decisions of live rules that a repair looks at. Times are Unix milliseconds, by the store's clock. */
export interface RepairQuery {
  readonly status: 'failed' | 'scored';
  /** Absent: every scorer, and decisions on whole rules. */
  readonly scorer?: string | undefined;
  /** Only targets whose last span arrived at or after this time. */
  readonly sinceMs: number;
  /** True: decisions on sessions. False: decisions on traces and their parts. */
  readonly ofSessions: boolean;
  /** Key of the hashes that order the traces and sessions, 16 bytes in hex: so no place is an id. */
  readonly orderKey: string;
  /** Place after which the search continues; null: from the beginning. */
  readonly after: string | null;
}

/** Decisions of the next traces or sessions. */
export interface RepairPage {
  readonly decisions: readonly Decision[];
  /** Place after this page; null after the last one. */
  readonly after: string | null;
}

/** Membership of a process in a duty: work that one process at a time does. */
export interface DutyBeat {
  readonly duty: string;
  /** Name of the process among the members. A member that has left never comes back under the same name. */
  readonly member: string;
  /** Time of the first beat as the store stamped it, Unix milliseconds; undefined for the first beat. */
  readonly joinedAtMs: number | undefined;
  readonly isLeaving: boolean;
}

/** Member that has not left and whose last beat is young. Times are Unix milliseconds by the store's clock. */
export interface DutyMember {
  readonly duty: string;
  readonly member: string;
  readonly joinedAtMs: number;
  readonly beatAtMs: number;
  /** Time of the read. */
  readonly nowMs: number;
}

/** A write through the API. */
export interface AuditRecord {
  /** Tenant of the sender; '' for all tenants. */
  readonly tenant: string;
  /** Name of the sender's token; '' without tokens. */
  readonly token: string;
  readonly action: string;
  /** Changed things, as `kind:id`. */
  readonly subjects: readonly string[];
}

/** Calls of one judge in one hour, or in the whole range. */
export interface JudgeUse {
  /** `provider/model`. */
  readonly judge: string;
  /** Start of the hour, Unix milliseconds; null for the whole range. */
  readonly hourMs: number | null;
  readonly calls: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly scorers: readonly string[];
  /** Number of failed calls by reason, also of those whose reply could not be used. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Size and cost of a call that was answered, without its texts. */
export interface CallSize extends Pick<
  JudgeCallRecord,
  'tenant' | 'traceId' | 'scoreId' | 'scorer' | 'step' | 'model' | 'costUsd' | 'durationMs' | 'calledAtMs'
> {
  /** UTF-8 bytes of the stored prompt. */
  readonly promptBytes: number;
  /** True when the prompt contains the text that marks a repeated question. */
  readonly isRepeat: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface CallSizeQuery {
  /** Undefined: of all tenants. */
  readonly tenant?: string | undefined;
  readonly scorers: readonly string[];
  /** Text that only the prompt of a repeated question contains. */
  readonly repeatMark: string;
  /** Most calls of each scorer and judge; the newest ones are read. */
  readonly limit: number;
}

/** Schema of a store, beside the schema of this program. */
export interface SchemaStatus {
  readonly database: string;
  /** Version that the store recorded; undefined for a store without one. */
  readonly schema: string | undefined;
  /** Version of this program. */
  readonly known: string;
  /**
   * - `empty`: the store has no tables of spanscore.
   * - `current`: the store has all tables of this program.
   * - `incomplete`: the store was made with this schema, but lacks tables: a creation was interrupted.
   * - `foreign`: the store was made with another schema. This program must not use it.
   */
  readonly state: 'empty' | 'current' | 'incomplete' | 'foreign';
  /** Statements that complete the store, in order. Each one can run again, and in two processes at once. */
  readonly pending: readonly string[];
  /** Reason against the use of a foreign store, with the way out. */
  readonly fault: string | undefined;
}
