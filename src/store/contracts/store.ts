import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { AuditStore, CookieKeyStore } from './access.ts';
import type { AgentPastStore } from './agent-pasts.ts';
import type { AggregateReads } from './aggregates/aggregate-reads.ts';
import type { AggregateStore } from './aggregates/aggregates.ts';
import type { ComparedScoreStore } from './aggregates/compared-scores.ts';
import type { CoverageStore } from './aggregates/coverage.ts';
import type { LabelStore } from './labels/label-store.ts';
import type { AlertFeed } from './alert-deliveries.ts';
import type { DeadLetterStore } from './dead-letters.ts';
import type { DutyStore } from './duties.ts';
import type { JobStore } from './jobs.ts';
import type { JudgeUseStore } from './judge-use.ts';
import type { ListedTrace, ListStore } from './lists.ts';
import type { AlertStore, MarkerStore, MonitorView } from './monitors.ts';
import type { PurgeStore, TombstoneStore } from './purge.ts';
import type { RepairStore } from './repairs.ts';
import type { RunStore } from './runs.ts';
import type { SessionStore } from './sessions.ts';
import type { ScoreExport } from './score-export.ts';
import type { ScoreFeed } from './score-feed.ts';
import type { SpanSink } from './span-sink.ts';
import type { VersionSampleStore } from './version-samples.ts';
import type {
  CoveredCell,
  DecisionStore,
  JudgeCallStore,
  MemberStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
  TraceKey,
} from './stores.ts';

/** One SELECT of a person. */
export interface SqlRequest {
  readonly query: string;
  /** An output format of the engine. */
  readonly format: string;
  readonly maxSeconds: number;
  readonly signal: AbortSignal;
}

export interface TraceListFilter {
  readonly tenant?: string;
  /** Service of a run; of a trace without a run any service, if it arrived within the last day. */
  readonly service?: string;
  /** Only traces with arrivals at or after this time, Unix milliseconds. */
  readonly sinceMs?: number;
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

/** Size of a store. */
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

/** All stored data, in one ClickHouse database. */
export interface Store {
  readonly sink: SpanSink;
  readonly spans: SpanSource;
  readonly decisions: DecisionStore;
  readonly scores: ScoreStore;
  readonly scoreExport: ScoreExport;
  /** Pasts of agents by their scores of `behaviour`. */
  readonly agentPasts: AgentPastStore;
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  readonly lists: ListStore;
  readonly labels: LabelStore;
  readonly coverage: CoverageStore;
  /** Computation of the aggregates of scores. */
  readonly aggregates: AggregateStore;
  /**
   * Creates the computation of the numbers of decisions by the hour.
   * @param listCells lists the scorers of each rule over time
   */
  readonly decisionHours: (listCells: () => Promise<readonly CoveredCell[]>) => AggregateStore;
  readonly aggregateReads: AggregateReads;
  readonly comparedScores: ComparedScoreStore;
  readonly repairs: RepairStore;
  /** Scores to export, and scores already exported. */
  readonly scoreFeed: ScoreFeed;
  readonly ruleVersions: RuleVersionStore;
  readonly versionSamples: VersionSampleStore;
  readonly judgeCalls: JudgeCallStore;
  /** Calls, failures and costs of judges, for people. */
  readonly judgeUse: JudgeUseStore;
  readonly members: MemberStore;
  /** Processes that share work which one at a time does. */
  readonly duties: DutyStore;
  /** Repairs, erasures and other work that a process continues when another one ends. */
  readonly jobs: JobStore;
  /** Marks of purged things. */
  readonly tombstones: TombstoneStore;
  /** Work of purges. */
  readonly purges: PurgeStore;
  readonly deadLetters: DeadLetterStore;
  readonly monitors: MonitorStore;
  readonly monitorView: MonitorView;
  readonly alerts: AlertStore;
  readonly markers: MarkerStore;
  /** Alerts to send, and alerts already sent. */
  readonly alertFeed: AlertFeed;
  readonly audit: AuditStore;
  readonly cookieKeys: CookieKeyStore;
  /** Newest traces with their runs and the state of their decisions. */
  listTraces(filter: TraceListFilter): Promise<TraceSummary[]>;
  /** Names of scorers that have score rows, of one tenant or of all. */
  scorerNames(tenant?: string): Promise<string[]>;
  /**
   * Makes live scoring look at stored traces again: something about them changed that is no span. Does nothing with traces that are
   * not stored, or whose first arrival is before `sinceMs` (Unix milliseconds).
   */
  reopenTraces(keys: readonly TraceKey[], sinceMs: number): Promise<void>;
  /**
   * Describes the source of spans in one line. Throws a `StoreUnavailableError` for foreign tables that are absent or not
   * readable, and a `ConfigError` for tables that lack columns.
   */
  describeSource(): Promise<string>;
  /** Finds the words in foreign tables that say nothing to spanscore about a span. Throws like `describeSource`. */
  unknownWords(): Promise<UnknownWord[]>;
  /**
   * Marks the present content of foreign tables as past; must be called before rules become active. Throws like
   * `describeSource`.
   */
  watchSource(): Promise<void>;
  /** Finds the tables that have rows ahead of the store's clock. */
  aheadRows(): Promise<AheadRows[]>;
  /** Reads the pace of one tenant, or of all. */
  pace(tenant?: string): Promise<StorePace>;
  /** Statements of people. */
  readonly sql: { run(request: SqlRequest): AsyncGenerator<Uint8Array> };
  /** Reads the size of the store. */
  size(): Promise<StoreSize>;
  /** Returns the same store with reads that have limits of their own and their own connections. It closes with this one. */
  limitReads(limits: ReadLimits): Store;
  /** Resolves when the server answers; throws `StoreUnavailableError`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
