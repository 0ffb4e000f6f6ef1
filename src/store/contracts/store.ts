import type { StatusCounts } from '../../domain/decision.ts';
import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { AlertFeed } from './alert-deliveries.ts';
import type { DeadLetterStore } from './dead-letters.ts';
import type { DutyStore } from './duties.ts';
import type { AlertStore, MarkerStore, MonitorView } from './monitors.ts';
import type { RunStore } from './runs.ts';
import type { SessionStore } from './sessions.ts';
import type { ScoreFeed } from './score-feed.ts';
import type { SpanSink } from './span-sink.ts';
import type {
  DecisionStore,
  JudgeCallStore,
  MemberStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
  TraceKey,
} from './stores.ts';

export interface TraceListFilter {
  readonly tenant?: string;
  readonly service?: string;
  /** Only traces with arrivals at or after this time, Unix milliseconds. */
  readonly sinceMs?: number;
  /** At most `MAX_KEYS`. */
  readonly limit: number;
}

/** One trace with its decisions. Times are Unix milliseconds. */
export interface TraceSummary extends TraceKey {
  readonly services: readonly string[];
  /** Number of distinct spans, without spans of spanscore. */
  readonly spanCount: number;
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
  readonly errorSeen: boolean;
  /** Number of current decisions by status; empty for a trace that waits or has no agent. */
  readonly decisions: StatusCounts;
}

/** Size of a store. */
export interface StoreSize {
  /** Bytes on disk, of all tables. */
  readonly bytes: number;
  /** Rows of the main tables; versions of a row that are not merged yet count separately. */
  readonly rows: { readonly spans: number; readonly scores: number; readonly decisions: number };
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
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  /** Scores to export, and scores already exported. */
  readonly scoreFeed: ScoreFeed;
  readonly ruleVersions: RuleVersionStore;
  readonly judgeCalls: JudgeCallStore;
  readonly members: MemberStore;
  /** Processes that share work which one at a time does. */
  readonly duties: DutyStore;
  readonly deadLetters: DeadLetterStore;
  readonly monitors: MonitorStore;
  readonly monitorView: MonitorView;
  readonly alerts: AlertStore;
  readonly markers: MarkerStore;
  /** Alerts to send, and alerts already sent. */
  readonly alertFeed: AlertFeed;
  /** Newest traces with the state of their decisions. */
  listTraces(filter: TraceListFilter): Promise<TraceSummary[]>;
  /** Names of scorers that have score rows. */
  scorerNames(): Promise<string[]>;
  /**
   * Describes the source of spans in one line. Throws a `StoreUnavailableError` for foreign tables that are absent or not
   * readable, and a `ConfigError` for tables that lack columns.
   */
  describeSource(): Promise<string>;
  /**
   * Marks the present content of foreign tables as past; must be called before rules become active. Throws like
   * `describeSource`.
   */
  watchSource(): Promise<void>;
  /** Finds the tables that have rows ahead of the store's clock. */
  aheadRows(): Promise<AheadRows[]>;
  /** Reads the size of the store. */
  size(): Promise<StoreSize>;
  /** Resolves when the server answers; throws `StoreUnavailableError`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
